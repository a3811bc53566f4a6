#!/usr/bin/env bash
# Brings generated/ up to date with testdata/specs/. The test that checks this knows which files to write.
source "$(dirname "$0")/common.sh"

go test ./emit -count=1 -run '^TestGeneratedIsFresh$' -update
git status --short generated
