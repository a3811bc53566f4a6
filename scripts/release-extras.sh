#!/usr/bin/env bash
# Writes the manual pages and completions for packages into build/release/. goreleaser calls it with the version and the
# commit time in seconds. It fails if the version is not the first one in CHANGELOG.md.
source "$(dirname "$0")/common.sh"

version=$1
export SOURCE_DATE_EPOCH=$2 # the date of manual pages
release=$(changelog_version)
[ "${version%%-*}" = "$release" ] || die "the release is $version, and CHANGELOG.md begins with $release"

folder=build/release
rm -rf "$folder"
mkdir -p "$folder/completions"
go build -o "$folder/hirgen" -ldflags "-X main.version=$version" ./cmd/hirgen
"$folder/hirgen" man "$folder/man"
gzip -9 --no-name "$folder"/man/*.1
"$folder/hirgen" completion bash >"$folder/completions/hirgen.bash"
"$folder/hirgen" completion zsh >"$folder/completions/_hirgen"
"$folder/hirgen" completion fish >"$folder/completions/hirgen.fish"
