// The limit of open files. Sockets and memory blocks of the CPU device count against it.
#pragma once

#include <string>

namespace hirgen {

/// Returns "too many open files ...", with advice, if this process can open fewer than 4 more files
/// and its limit is at most 2^20; else "". Callers ask after the failure of a library call that
/// opens files, because its own message would mislead.
std::string too_many_files();

}  // namespace hirgen
