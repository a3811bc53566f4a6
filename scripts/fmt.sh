#!/usr/bin/env bash
# Formats Go with gofmt and C++ with the pinned clang-format.
source "$(dirname "$0")/common.sh"
source scripts/cpp-tools.sh

gofmt -w $(git ls-files '*.go')
cpp_sources | xargs "$clang_format" -i
