#!/usr/bin/env bash
# Runs the whole suite: gofmt, go vet, the tests of the runtime and of the CPU device, the
# Python tests of scripts/, and every Go test. The end-to-end tests build and run emitted
# programs on the CPU device. Ends with one line per step.
source "$(dirname "$0")/common.sh"

export GOGC=400 # the tests, the compiler and the linters allocate much short-lived memory
summary=()
failed=0

# step runs a command and records its outcome for the summary.
step() {
  local name="$1" start=$SECONDS result=ok
  shift
  say "$name"
  "$@" || { result=FAILED; failed=1; }
  summary+=("$(printf '%-8s %4ds  %s' "$result" $((SECONDS - start)) "$name")")
}

formatted() {
  local files
  files=$(gofmt -l $(git ls-files '*.go'))
  [ -z "$files" ] || { printf 'not formatted; run "make fmt":\n%s\n' "$files"; return 1; }
}

step "gofmt" formatted
step "go vet" go vet ./...
step "C++ tests" scripts/cpp-tests.sh
step "Python tests" python3 -m unittest discover -q -s scripts/bench_gpu
step "Python tests of the documentation" python3 -m unittest discover -q -s scripts/docs
step "Python tests of the limits on prose" python3 -m unittest discover -q -s scripts/prose
step "made-up additions" python3 -m unittest discover -q -s scripts/additions
step "go test" go test -timeout 40m $(go list ./... | grep -v '/internal/scaling$')
step "time limits" go test ./internal/scaling # alone, since other tests would disturb the measurements

say "summary"
printf '%s\n' "${summary[@]}"
exit $failed
