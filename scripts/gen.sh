#!/usr/bin/env bash
# Brings generated/ up to date with testdata/specs/. The test that it is so knows which files lie there.
source "$(dirname "$0")/common.sh"

go test ./emit -count=1 -run '^TestGeneratedIsFresh$' -update
git status --short generated
