#!/usr/bin/env bash
# Makes a wheel of the Python package with the program in it: scripts/wheel.sh BINARY PLATFORM FOLDER. PLATFORM is a platform tag of
# PyPI, such as manylinux_2_17_x86_64. The binary must be static, so that it runs on old systems. pip installs it on PATH.
source "$(dirname "$0")/common.sh"

binary=$(realpath "$1") platform=$2 out=$(realpath -m "$3")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' runtime_cpp/python/pyproject.toml)
[ "$version" = "$(changelog_version)" ] || die "pyproject.toml is $version, and CHANGELOG.md begins with $(changelog_version)"
readelf -l "$binary" | grep -q INTERP && die "$binary is not static: build it with CGO_ENABLED=0"

install_python_tools wheel "wheel==$wheel_version" "setuptools==$setuptools_version"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r runtime_cpp/python "$scratch/source" # setuptools writes folders next to its sources
"$tools/wheel/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$scratch" "$scratch/source"
"$tools/wheel/bin/wheel" unpack -d "$scratch" "$scratch/hirgen-$version-py3-none-any.whl" >/dev/null
root=$scratch/hirgen-$version
install -D -m 755 "$binary" "$root/hirgen-$version.data/scripts/hirgen"
licences=runtime_cpp/third_party/cudnn_frontend # the program emits these files
install -D -m 644 -t "$root/hirgen-$version.dist-info/licenses/third_party/cudnn_frontend" "$licences"/LICENSE* "$licences/NOTICE"
install -D -m 644 LICENSE "$root/hirgen-$version.dist-info/licenses/LICENSE"
sed -i "s/^Root-Is-Purelib: true/Root-Is-Purelib: false/; s/^Tag: .*/Tag: py3-none-$platform/" "$root/hirgen-$version.dist-info/WHEEL"
mkdir -p "$out"
"$tools/wheel/bin/wheel" pack -d "$out" "$root"
