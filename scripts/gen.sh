#!/usr/bin/env bash
# Updates generated/ from testdata/specs/, and the headers of the runtime that list rows of model/domain and
# calls/collective. The tests that compare these files write them.
source "$(dirname "$0")/common.sh"

go test ./runtime_cpp -count=1 -run 'RowsHeader$' -update
go test ./emit -count=1 -run '^TestGeneratedIsFresh$' -update
git status --short generated runtime_cpp
