#!/usr/bin/env bash
# Installs missing dependencies of a build, except Go.
source "$(dirname "$0")/common.sh"

command -v go >/dev/null ||
  die "Go not found; install Go 1.26 or newer from https://go.dev/dl/ and put its bin folder on PATH"

# cmake_is_new reports whether cmake is at least 3.24, which emitted projects require.
cmake_is_new() {
  local found
  found=$(cmake --version | awk 'NR == 1 {print $3}')
  [ "$(printf '%s\n' 3.24 "$found" | sort -V | head -1)" = 3.24 ]
}

missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v ninja >/dev/null || missing+=(ninja-build)
command -v pkg-config >/dev/null || missing+=(pkg-config)
command -v c++ >/dev/null || command -v g++ >/dev/null || missing+=(g++)
if [ ${#missing[@]} != 0 ]; then
  say "installing ${missing[*]}"
  apt_install "${missing[@]}" ||
    die "could not install ${missing[*]} as this user; install with: sudo apt-get install ${missing[*]}"
fi

cmake_is_new && exit 0
say "installing cmake $cmake_version under .tools, since the installed one is older than 3.24"
make_venv "$tools/cmake"
"$tools/cmake/bin/pip" install -q "cmake==$cmake_version"
