#!/usr/bin/env bash
# Emits every example spec into its folder under generated/. What git keeps of a folder is
# the program; the runtime's copy, the same in all of them, is written here and ignored.
source "$(dirname "$0")/common.sh"

for spec in testdata/specs/*/; do
  name=$(basename "$spec")
  # A fresh clone lacks the manifest that says whose files these are: they are ours.
  bin/hirgen emit "$spec/spec.yaml" -o "generated/$name" --force >/dev/null
done
echo "emitted $(ls -d generated/*/ | wc -l) programs into generated/"
