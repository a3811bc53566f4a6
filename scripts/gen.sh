#!/usr/bin/env bash
# Emits the example specs that have a folder under generated/ into it. With --check it
# writes nothing and fails if that would change anything.
source "$(dirname "$0")/common.sh"

for folder in generated/*/; do
  name=$(basename "$folder")
  bin/hirgen emit "testdata/specs/$name/spec.yaml" -o "generated/$name" "$@"
done
