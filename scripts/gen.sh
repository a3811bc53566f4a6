#!/usr/bin/env bash
# Emits every example spec into generated/. With --check it writes nothing and fails if
# that would change anything.
source "$(dirname "$0")/common.sh"

for spec in testdata/specs/*/spec.yaml; do
  name=$(basename "$(dirname "$spec")")
  bin/hirgen emit "$spec" -o "generated/$name" "$@"
done
