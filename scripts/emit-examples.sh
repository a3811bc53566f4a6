#!/usr/bin/env bash
# Emits example specs, those named or all, into whole folders under build/generated/: what generated/ shows,
# with everything that a build needs. Prints the folders, one a line.
source "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || set -- $(ls testdata/specs)
go build -o bin/hirgen ./cmd/hirgen
for name; do
  [ -f "testdata/specs/$name/spec.yaml" ] || die "there is no example $name; they are in testdata/specs/"
  bin/hirgen emit "testdata/specs/$name/spec.yaml" -o "build/generated/$name" >/dev/null
  echo "build/generated/$name"
done
