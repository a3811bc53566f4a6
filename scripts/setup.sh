#!/usr/bin/env bash
# Installs what a build needs and this machine lacks; does nothing where all is there.
source "$(dirname "$0")/common.sh"

command -v go >/dev/null ||
  die "Go not found; install Go 1.26 or newer from https://go.dev/dl/ and put its bin folder on PATH"

missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v ninja >/dev/null || missing+=(ninja-build)
command -v c++ >/dev/null || command -v g++ >/dev/null || missing+=(g++)
[ ${#missing[@]} = 0 ] && exit 0

say "installing ${missing[*]}"
apt_install "${missing[@]}" ||
  die "could not install ${missing[*]} as this user; install with: sudo apt-get install ${missing[*]}"
