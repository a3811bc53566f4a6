#!/usr/bin/env bash
# Installs a wheel into a fresh environment, .tools/wheel-installed, and runs the program from PATH and the module, as far as they
# need no compiler, PyTorch or network.
source "$(dirname "$0")/common.sh"

wheel=$(realpath "$1")
environment="$tools/wheel-installed"
rm -rf "$environment"
make_venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
mkdir -p "$environment/empty"
cp testdata/specs/ag_matmul/spec.yaml "$environment/empty"
cd "$environment/empty"
only=(env -i HOME="$PWD" PATH="$environment/bin")
"${only[@]}" hirgen --version
"${only[@]}" hirgen check spec.yaml >/dev/null
"${only[@]}" hirgen verify spec.yaml
"${only[@]}" hirgen explain spec.yaml -o explain.html >/dev/null
"${only[@]}" hirgen simulate spec.yaml -n 4,8 >/dev/null
"${only[@]}" hirgen emit spec.yaml -o out >/dev/null
"${only[@]}" python -c "
import hirgen
from hirgen.load import _program
assert _program(None) == '$environment/bin/hirgen', _program(None)
try:
    hirgen.load('spec.yaml')
except ImportError as error:
    print('import hirgen, and without PyTorch:', error)
else:
    raise AssertionError('hirgen.load needs no PyTorch')"
