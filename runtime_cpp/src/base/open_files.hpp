// The limit of open files, which sockets and the memory of the CPU device share.
#pragma once

#include <string>

namespace hirgen {

/// "too many open files ...", with advice, if this process can open almost no other file; else "".
/// For failures of libraries that open files, because their own messages mislead.
std::string too_many_files();

}  // namespace hirgen
