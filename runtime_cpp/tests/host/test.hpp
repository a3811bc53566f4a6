// A test is a block with a name; a test program runs all of its blocks and exits with 1 if an
// expectation failed. A failed expectation does not end its test, so one run shows all failures.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen::test {

/// Registers a block. HG_TEST defines one Registration for each block.
struct Registration {
  Registration(const char* name, void (*body)());
};

/// Counts a failure at file:line, and prints `what`, unless `holds`.
void expect(bool holds, const std::string& what, const char* file, int line);

/// Runs every block, or those whose name contains argv[1]. Returns the exit code, 0 or 1.
int run_all(int argc, char** argv);

/// The code, message and suspect (a rank; -1: none) of the Error that the body of thrown_by()
/// throws; the default values below if the body throws no Error.
struct Thrown {
  Code code = Code::kOk;
  std::string message;
  int suspect = -1;
};
Thrown thrown_by(const std::function<void()>& body);

/// Limits the open files of this process while an object exists. With a limit below the number of
/// descriptors that a poll() waits for, the poll() fails with EINVAL.
class FileLimit {
 public:
  explicit FileLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

inline std::string show(const std::string& text) { return "\"" + text + "\""; }
inline std::string show(const char* text) { return show(std::string(text)); }
inline std::string show(Code code) { return "code " + std::to_string(static_cast<int>(code)); }
template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
std::string show(T value) {
  return std::to_string(+value);
}

/// Counts a failure at file:line unless the two are equal, and shows both. Never inlined, because
/// the code that builds the text would be most of the code of a test.
template <typename Got, typename Wanted>
[[gnu::noinline]] void expect_equal(const Got& got, const Wanted& wanted, const char* what,
                                    const char* file, int line) {
  if (got == wanted) return;
  expect(false, std::string(what) + " is " + show(got) + ", not " + show(wanted), file, line);
}

/// Counts a failure at file:line unless `text` contains `part`, and shows the text.
void expect_contains(const std::string& text, const std::string& part, const char* file, int line);

}  // namespace hirgen::test

#define HG_TEST(name)                                                         \
  static void name();                                                         \
  static const ::hirgen::test::Registration name##_registration(#name, name); \
  static void name()

#define HG_EXPECT(condition) ::hirgen::test::expect((condition), #condition, __FILE__, __LINE__)

#define HG_EXPECT_EQ(got, wanted) \
  ::hirgen::test::expect_equal((got), (wanted), #got, __FILE__, __LINE__)

/// Expects that `text` contains `part`, and shows the text if not.
#define HG_EXPECT_CONTAINS(text, part) \
  ::hirgen::test::expect_contains((text), (part), __FILE__, __LINE__)
