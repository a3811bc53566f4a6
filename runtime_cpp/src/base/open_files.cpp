#include "base/open_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/text.hpp"

namespace hirgen {

namespace {

// A call that failed for lack of files may have closed some of them again.
constexpr int kFew = 4;
// A process with a higher limit does not reach it by accident, and counting would take long.
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
