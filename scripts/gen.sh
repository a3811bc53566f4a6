#!/usr/bin/env bash
# Updates the headers that the runtime has from rows of model/domain and calls/collective, and generated/ from
# testdata/specs/. The tests that check them write them.
source "$(dirname "$0")/common.sh"

go test ./runtime_cpp -count=1 -run 'RowsHeader$' -update
go test ./emit -count=1 -run '^TestGeneratedIsFresh$' -update
git status --short generated runtime_cpp
