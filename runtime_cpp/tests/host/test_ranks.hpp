// Common parts of the tests of whole programs: a small program as emit would write it, and
// processes that run its ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bootstrap/socket.hpp"
#include "hirgen/program.hpp"

namespace hirgen::test {

constexpr int kWorld = 3;

/// C = allgather(A), A [2, DIDx(kWorld), 96] of fp32, a slice at a time on two compute streams.
/// SAMPLE_FLAW=rank:flaw changes one rank: "create" throws from create, "run" throws from the
/// second call only, "value" writes two wrong elements in each call, and "places" prints the
/// addresses of A and C modulo 256 in each call. SAMPLE_DIGEST is the program's digest.
ProgramTable sample_table();

/// The end of a rank.
struct Ended {
  int code = 0;        ///< exit code, or 128 + signal
  double seconds = 0;  ///< from the start of all ranks
  std::string out, err;
};

/// Environment variables of the ranks; "NAME@2" sets NAME only for rank 2.
using Environment = std::map<std::string, std::string>;

/// When all ranks are stopped, in seconds after their start, and for how many seconds. If `seconds`
/// is 0, they are not stopped.
struct Pause {
  double after = 0, seconds = 0;
};

/// Starts this test program again as kWorld ranks, with "--rank" before the arguments, and waits
/// for all. Returns the ends by rank. The last remaining rank is continued, so that a rank that has
/// stopped itself can end, too.
std::vector<Ended> run_ranks(const std::vector<std::string>& arguments,
                             const Environment& environment = {}, Pause pause = {});

/// Runs the ranks with several seeds of the CPU device. Expects that all end with 0, which excludes
/// wrong elements, and that they print no messages.
void expect_right(Environment environment);

/// Whether a test has set a variable, which tells its program what to do.
bool chosen(const char* variable);

/// A path in the temporary folder that no other test process uses.
std::string scratch(int rank, const char* what);

/// The content of a file, "" if there is none.
std::string read_file(const std::string& path);

/// A port of the loopback interface that no other program can get: its socket is bound, but does
/// not listen, so rank 0 can listen there.
class ReservedPort {
 public:
  ReservedPort();
  int number() const { return number_; }

 private:
  Socket holder_;
  int number_ = 0;
};

}  // namespace hirgen::test
