# Sourced: the pinned clang-format and clang-tidy, installed from the Python registry.

clang_format="$tools/cpp/bin/clang-format"
clang_tidy="$tools/cpp/bin/clang-tidy"

install_cpp_tools() {
  local pins="clang-format==$clang_format_version clang-tidy==$clang_tidy_version"
  [ "$(cat "$tools/cpp/pins" 2>/dev/null)" = "$pins" ] && return 0
  say "installing $pins"
  make_venv "$tools/cpp"
  # shellcheck disable=SC2086 # two words are meant
  "$tools/cpp/bin/pip" install --quiet --disable-pip-version-check $pins
  echo "$pins" >"$tools/cpp/pins"
}

# cpp_sources lists the C++ that people write; emitted C++ is checked where it is made.
cpp_sources() {
  git ls-files -- runtime_cpp | grep -E '\.(h|hpp|cpp|cu|cuh)$'
}

install_cpp_tools
