#!/usr/bin/env bash
# Rewrites the golden files. First the end-to-end tests must pass: output that does not
# build, or that computes wrong elements, never becomes what is expected.
source "$(dirname "$0")/common.sh"

say "building and checking emitted programs"
go test -timeout 40m ./internal/e2e/ -count=1
say "rewriting golden files"
packages=$(grep -rl 'flag.Bool("update"' --include=*_test.go . | xargs -n1 dirname | sort -u)
HIRGEN_CACHE="$PWD/build/cache" go test $packages -update
