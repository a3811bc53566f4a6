# Sourced by other shell scripts: enters the root of the checkout, and defines functions and versions of pinned tools.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools="$PWD/.tools"
golangci_version=v2.13.1
clang_format_version=23.1.5
clang_tidy_version=23.1.4
goreleaser_version=v2.16.0 # the newest version with all modules on the Go proxy
syft_version=1.18.1
hadolint_version=2.15.1
torch_version=2.11.0
wheel_version=0.45.1
setuptools_version=80.9.0
cmake_version=3.31.6 # installed if the distribution's version is too old for emitted projects
[ -x "$tools/cmake/bin/cmake" ] && PATH="$tools/cmake/bin:$PATH"

# say prints a line that stands out from the output of tools.
say() { printf '==> %s\n' "$*"; }

# die prints an error, usually with the command that fixes it, and exits with the code of an environment error.
die() {
  printf 'error: %s\n' "$*" >&2
  exit 3
}

# root_run runs a command as root, or fails if this user may not.
root_run() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

# apt_install installs Debian packages. It updates the package lists if the first try fails.
apt_install() {
  command -v apt-get >/dev/null || return 1
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  root_run "${install[@]}" >/dev/null 2>&1 && return 0
  root_run apt-get update >/dev/null && root_run "${install[@]}" >/dev/null
}

# make_venv makes a Python environment at $1 unless it exists, and installs Python if it is missing.
make_venv() {
  [ -x "$1/bin/pip" ] && return 0
  command -v python3 >/dev/null || apt_install python3 python3-venv ||
    die "python3 not found; install with: sudo apt-get install python3 python3-venv"
  python3 -m venv "$1" >/dev/null 2>&1 && [ -x "$1/bin/pip" ] && return 0
  rm -rf "$1"
  apt_install python3-venv || die "python3 has no venv module; install with: sudo apt-get install python3-venv"
  python3 -m venv "$1"
}

# install_python_tools installs pinned packages, $2 and following, into the Python environment .tools/$1 unless they are installed.
install_python_tools() {
  local folder="$tools/$1" pins="${*:2}"
  [ "$(cat "$folder/pins" 2>/dev/null)" = "$pins" ] && return 0
  say "installing $2${3:+ and what it needs}"
  make_venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
  echo "$pins" >"$folder/pins"
}

# changelog_version prints the first version in CHANGELOG.md, which is the version of the program.
changelog_version() { sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -1; }
