#!/usr/bin/env bash
# Tests the package for PyTorch on the CPU device, and runs the commands for PyTorch in README.md unchanged. PyTorch comes
# from PyPI and imports without a GPU. It takes some 5 GB under .tools/ and two to three minutes with cold caches.
source "$(dirname "$0")/common.sh"

venv="${HIRGEN_TORCH_VENV:-$tools/python-venv}" # may be one that has PyTorch already
make_venv "$venv"
"$venv/bin/python" -c "import torch" 2>/dev/null || {
  say "installing PyTorch $torch_version"
  "$venv/bin/pip" install -q --no-cache-dir "torch==$torch_version" numpy
}
PATH="$PWD/bin:$venv/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HIRGEN="$PWD/bin/hirgen" HIRGEN_CACHE="$work/cache" PYTHONDONTWRITEBYTECODE=1

say "the commands of README.md"
commands=$(sed -n '/^## From PyTorch$/,/^## [^F]/{s/^    //p}' README.md)
[ "$(grep -c . <<<"$commands")" = 3 ] || die "README.md does not have three commands for PyTorch"
printf '%s\n' "$commands"
(ln -s "$PWD"/{testdata,scripts} "$work" && cd "$work" && HIRGEN_DEVICE=cpu PIP_QUIET=1 bash -eu <<<"$commands")

say "tests"
HIRGEN_TEST_SPEC="$PWD/testdata/specs/llama_mlp/spec.yaml" PYTHONPATH="$PWD/runtime_cpp/python" \
  python -m unittest discover -v -s runtime_cpp/python/tests
