#!/usr/bin/env bash
# Builds the documentation into build/site/ with mkdocs, as configured in mkdocs.yml. A link to a missing page or heading
# is an error.
source "$(dirname "$0")/common.sh"

mapfile -t pins < <(grep -o '^[^ #]*==[^ #]*' docs/requirements.txt)
install_python_tools docs "${pins[@]}"
# Not --quiet, which would hide the warnings from --strict.
NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 "$tools/docs/bin/mkdocs" build --strict 2>&1 | { grep -v '^INFO' || true; }
say "the documentation is in build/site/index.html"
