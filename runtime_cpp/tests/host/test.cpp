#include "test.hpp"

#include <cstdio>
#include <exception>

namespace hirgen::test {

namespace {

struct Block {
  const char* name;
  void (*body)();
};

std::vector<Block>& blocks() {
  static std::vector<Block> all;
  return all;
}

int g_failures = 0;

}  // namespace

Registration::Registration(const char* name, void (*body)()) { blocks().push_back({name, body}); }

void expect(bool holds, const std::string& what, const char* file, int line) {
  if (holds) return;
  ++g_failures;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

void expect_contains(const std::string& text, const std::string& part, const char* file, int line) {
  if (text.find(part) != std::string::npos) return;
  expect(false, "no " + show(part) + " in:\n" + text, file, line);
}

int run_all(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  for (const Block& block : blocks()) {
    if (std::string(block.name).find(filter) == std::string::npos) continue;
    const int before = g_failures;
    try {
      block.body();
    } catch (const std::exception& error) {
      expect(false, std::string("exception: ") + error.what(), block.name, 0);
    }
    std::printf("%-6s %s\n", g_failures == before ? "ok" : "FAILED", block.name);
    std::fflush(stdout);
  }
  return g_failures == 0 ? 0 : 1;
}

Thrown thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what(), error.suspect()};
  }
  return {};
}

}  // namespace hirgen::test
