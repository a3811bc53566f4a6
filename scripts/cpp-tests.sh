#!/usr/bin/env bash
# Builds the runtime and the CPU device and runs their tests. With an argument, thread or address,
# it runs the tests and an emitted program under that sanitizer. The output of the tools is shown
# only on failure.
source "$(dirname "$0")/common.sh"

sanitizer="${1:-}"
folder="build/runtime${sanitizer:+-$sanitizer}"
log="$folder.log"
mkdir -p build

# quietly runs a command and shows the log if it fails.
quietly() {
  "$@" >>"$log" 2>&1 || { cat "$log"; exit 1; }
}

: >"$log"
program=
if [ -n "$sanitizer" ]; then
  program="$PWD/build/sanitized"
  quietly go run ./cmd/hirgen emit testdata/specs/ag_linear/spec.yaml -p D=2 -p M=128 -p N=24 -p K=32 -o "$program"
fi
quietly cmake -S runtime_cpp -B "$folder" -G Ninja -DHIRGEN_SANITIZE="$sanitizer" -DHIRGEN_PROGRAM="$program"
quietly cmake --build "$folder"
# These tests have programs with intentional races, which the CPU device itself must detect.
racing='^device_(orders|gemms|memops)$'
[ "$sanitizer" = thread ] || racing='^$'
quietly ctest --test-dir "$folder" -j6 --output-on-failure -E "$racing"
grep 'tests passed' "$log"
[ -z "$program" ] || HIRGEN_SANITIZED_PROGRAM="$PWD/$folder/program" go test -count=1 -run '^TestSanitizers$' ./internal/e2e
