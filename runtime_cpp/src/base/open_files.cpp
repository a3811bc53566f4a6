#include "base/open_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/text.hpp"

namespace hirgen {

namespace {

// The limit counts as reached if fewer descriptors than this are unused, not only if all are in
// use: the call that failed may have closed some descriptors again.
constexpr int kFew = 4;
// Higher limits are not checked: a process hardly reaches them, and counting could take long.
constexpr rlim_t kLargestLimit = 1 << 20;

}  // namespace

std::string too_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kLargestLimit) return "";
  const int most = static_cast<int>(limit.rlim_cur);
  int left = 0;
  for (int fd = 0; fd < most && left < kFew; ++fd) left += fcntl(fd, F_GETFD) < 0 ? 1 : 0;
  if (left >= kFew) return "";
  return format("too many open files: this process may have %d (ulimit -n); raise the limit", most);
}

}  // namespace hirgen
