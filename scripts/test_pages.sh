#!/usr/bin/env bash
# Opens the pages of hirgen timeline and hirgen explain in Chromium, after installing it if it is missing, and
# leaves screenshots in build/pages/.
source "$(dirname "$0")/common.sh"

command -v chromium >/dev/null || command -v google-chrome >/dev/null || {
  say "installing chromium"
  apt_install chromium || die "could not install chromium as this user; install with: sudo apt-get install chromium"
}
mkdir -p build/pages
HIRGEN_SCREENSHOTS="$PWD/build/pages" go test -count=1 -run Browser ./internal/tools/timeline ./internal/tools/explain
say "pictures are in build/pages/"
