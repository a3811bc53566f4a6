// The limit of open files. Sockets and memory blocks of the CPU device count against it.
#pragma once

#include <string>

namespace hirgen {

/// Returns "too many open files ...", with advice, if this process can open fewer than 4 more files
/// and its limit is at most 2^20; else "". For failures of libraries that open files, whose own
/// messages mislead.
std::string too_many_files();

}  // namespace hirgen
