# Sourced by other scripts: installs the pinned clang-format and clang-tidy from the Python registry.

clang_format="$tools/cpp/bin/clang-format"
clang_tidy="$tools/cpp/bin/clang-tidy"

# cpp_sources lists the hand-written C++ of the runtime and the examples. The tests of the emitter
# check emitted C++.
cpp_sources() {
  git ls-files -- runtime_cpp examples ':!runtime_cpp/third_party' | grep -E '\.(c|h|hpp|cpp|cu|cuh)$'
}

install_python_tools cpp "clang-format==$clang_format_version" "clang-tidy==$clang_tidy_version"
