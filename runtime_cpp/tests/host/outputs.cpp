// Tests of files that a program writes: through symbolic links, and to a device, a FIFO or the
// target of standard output.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

void write_text(const std::string& path, const std::string& text, double seconds = 2) {
  write_file(path, {{text.data(), text.size()}}, seconds);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder that is removed with its contents at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() { HG_EXPECT(mkdtemp(path_) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const char* name) const { return std::string(path_) + "/" + name; }
  /// The number of entries of the folder.
  int64_t count() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  char path_[32] = "/tmp/hirgen_test_XXXXXX";
};

HG_TEST(a_symbolic_link_is_followed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_symlink("real/target", folder / "middle");
  std::filesystem::create_symlink("middle", folder / "link");
  for (const char* text : {"new", "again"}) {  // first a dangling link, then a link to a file
    write_text(folder / "link", text);
    HG_EXPECT(std::filesystem::is_symlink(folder / "link"));
    HG_EXPECT(std::filesystem::is_symlink(folder / "middle"));
    HG_EXPECT_EQ(content(folder / "real/target"), text);
  }
  HG_EXPECT_EQ(folder.count(), 3);
  std::filesystem::create_symlink("loop", folder / "loop");
  const auto loop = [&] { write_text(folder / "loop", "x"); };
  HG_EXPECT_CONTAINS(test::thrown_by(loop).message, folder / "loop");
  const auto over = [&] { write_text(folder / "real", "x"); };
  HG_EXPECT_CONTAINS(test::thrown_by(over).message, "Is a directory");
}

HG_TEST(a_device_is_written_and_stays_one) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "null");
  for (const std::string& path : {folder / "null", std::string("/dev/null")}) {
    write_text(path, "text");
    HG_EXPECT(std::filesystem::is_character_file("/dev/null"));
  }
  HG_EXPECT(std::filesystem::is_symlink(folder / "null"));
  const auto full = [] { write_text("/dev/full", "x"); };
  HG_EXPECT_CONTAINS(test::thrown_by(full).message, "/dev/full: No space left");
}

HG_TEST(a_fifo_is_written_and_stays_one) {
  const TemporaryFolder folder;
  const std::string path = folder / "fifo";
  HG_EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(path); });
  const std::string text(300'000, 'x');  // more than a FIFO holds
  write_text(path, text, 10);
  reader.join();
  HG_EXPECT(read == text);
  HG_EXPECT(std::filesystem::is_fifo(path));
  HG_EXPECT_EQ(folder.count(), 1);
}

HG_TEST(a_fifo_that_nobody_reads_is_waited_for_within_the_limit) {
  const TemporaryFolder folder;
  const std::string path = folder / "fifo";
  HG_EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto write = [&] { write_text(path, std::string(300'000, 'x'), 0.2); };
  HG_EXPECT_CONTAINS(test::thrown_by(write).message, "nobody reads");
  const int silent = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  HG_EXPECT_CONTAINS(test::thrown_by(write).message, "nobody reads");
  close(silent);
}

// A failure of poll() is reported at once, and not taken for a reader that is late.
HG_TEST(a_failed_wait_for_a_reader_is_reported) {
  int ends[2] = {-1, -1};
  HG_EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  const auto start = Clock::now();
  const test::Thrown thrown = test::thrown_by([] {
    const test::FileLimit none(0);
    write_text("/dev/stdout", std::string(300'000, 'x'), 5);
  });
  dup2(kept, STDOUT_FILENO);
  for (const int fd : {kept, ends[0], ends[1]}) close(fd);
  HG_EXPECT_CONTAINS(thrown.message, "cannot write /dev/stdout: Invalid argument");
  HG_EXPECT(seconds_since(start) < 2);
}

// If standard output is a file, earlier output stays in it.
HG_TEST(standard_output_is_written_where_it_goes) {
  const TemporaryFolder folder;
  const std::string path = folder / "out";
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2(file, STDOUT_FILENO);
  static_cast<void>(!write(STDOUT_FILENO, "first\n", 6));
  write_text("/dev/stdout", "second\n");
  static_cast<void>(!write(STDOUT_FILENO, "third\n", 6));
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(file);
  HG_EXPECT_EQ(content(path), "first\nsecond\nthird\n");
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
