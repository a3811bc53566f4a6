// A test is a block with a name; a test program runs all of its blocks and exits with 1 if
// an expectation failed. Expectations go on after a failure, so that one run shows all.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen::test {

/// Registers a block; HG_TEST does.
struct Registration {
  Registration(const char* name, void (*body)());
};

/// Counts a failure at file:line unless `holds`.
void expect(bool holds, const std::string& what, const char* file, int line);

/// Runs every block, or those whose name contains argv[1]. Returns the exit code.
int run_all(int argc, char** argv);

/// The code and message of the Error that `body` throws; kOk and "" if it throws none.
struct Thrown {
  Code code = Code::kOk;
  std::string message;
  int suspect = -1;
};
Thrown thrown_by(const std::function<void()>& body);

inline std::string show(const std::string& text) { return "\"" + text + "\""; }
inline std::string show(const char* text) { return show(std::string(text)); }
inline std::string show(Code code) { return "code " + std::to_string(static_cast<int>(code)); }
template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
std::string show(T value) {
  return std::to_string(+value);
}

}  // namespace hirgen::test

#define HG_TEST(name)                                                         \
  static void name();                                                         \
  static const ::hirgen::test::Registration name##_registration(#name, name); \
  static void name()

#define HG_EXPECT(condition) ::hirgen::test::expect((condition), #condition, __FILE__, __LINE__)

#define HG_EXPECT_EQ(got, wanted)                                                               \
  do {                                                                                          \
    const auto& hg_got = (got);                                                                 \
    const auto& hg_wanted = (wanted);                                                           \
    ::hirgen::test::expect(hg_got == hg_wanted,                                                 \
                           std::string(#got " is ") + ::hirgen::test::show(hg_got) + ", not " + \
                               ::hirgen::test::show(hg_wanted),                                 \
                           __FILE__, __LINE__);                                                 \
  } while (false)

/// Expects that `text` contains `part`, and shows the text if not.
#define HG_EXPECT_CONTAINS(text, part)                                                        \
  do {                                                                                        \
    const std::string hg_text = (text);                                                       \
    ::hirgen::test::expect(hg_text.find(part) != std::string::npos,                           \
                           "no " + ::hirgen::test::show(part) + " in:\n" + hg_text, __FILE__, \
                           __LINE__);                                                         \
  } while (false)
