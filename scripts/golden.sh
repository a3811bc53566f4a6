#!/usr/bin/env bash
# Rewrites the golden files. First the end-to-end tests must pass, so that output that does not
# build or computes wrong elements never becomes the expected output.
source "$(dirname "$0")/common.sh"

say "building and checking emitted programs"
go test -timeout 40m ./internal/e2e/ -count=1
say "rewriting golden files"
packages=$(grep -rl 'flag.Bool("update"' --include=*_test.go . | xargs -n1 dirname | sort -u)
HIRGEN_CACHE="$PWD/build/cache" go test $packages -update
