#!/usr/bin/env bash
# Builds the documentation into build/site/ by mkdocs, as mkdocs.yml says. A link to what is not there, or to a heading
# that is not there, ends it with an error.
source "$(dirname "$0")/common.sh"

mapfile -t pins < <(grep -o '^[^ #]*==[^ #]*' docs/requirements.txt)
install_python_tools docs "${pins[@]}"
# Not --quiet: it would take the warnings from --strict.
NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 "$tools/docs/bin/mkdocs" build --strict 2>&1 | { grep -v '^INFO' || true; }
say "the documentation is in build/site/index.html"
