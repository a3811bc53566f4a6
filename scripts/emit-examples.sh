#!/usr/bin/env bash
# Emits example specs, the named ones or all, into complete folders under build/generated/: the sources of generated/
# and everything else for a build. Prints the folders, one a line.
source "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || set -- $(ls testdata/specs)
go build -o bin/hirgen ./cmd/hirgen
for name; do
  [ -f "testdata/specs/$name/spec.yaml" ] || die "there is no example $name; they are in testdata/specs/"
  bin/hirgen emit "testdata/specs/$name/spec.yaml" -o "build/generated/$name" >/dev/null
  echo "build/generated/$name"
done
