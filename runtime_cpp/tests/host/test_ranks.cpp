#include "test_ranks.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/text.hpp"
#include "test.hpp"

namespace hirgen::test {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string scratch(int rank, const char* what) {
  return format("/tmp/hirgen_test_%d_%d.%s", static_cast<int>(getpid()), rank, what);
}

ReservedPort::ReservedPort() : holder_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int one = 1;
  setsockopt(holder_.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // port 0: the system chooses
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(holder_.fd(), any, size) != 0 || getsockname(holder_.fd(), any, &size) != 0) {
    throw Error(Code::kEnvironment, "no free port");
  }
  number_ = ntohs(address.sin_port);
}

namespace {

pid_t start_rank(int rank, int port, const std::vector<std::string>& arguments,
                 const Environment& environment) {
  const std::string out = scratch(rank, "out");
  const std::string err = scratch(rank, "err");
  const pid_t pid = fork();
  if (pid != 0) return pid;
  Environment variables{{"HIRGEN_RANK", std::to_string(rank)},
                        {"HIRGEN_WORLD", std::to_string(kWorld)},
                        {"HIRGEN_LOCAL_RANK", std::to_string(rank)},
                        {"HIRGEN_ADDR", "127.0.0.1"},
                        {"HIRGEN_PORT", std::to_string(port)}};
  for (const auto& [name, value] : environment) {
    // "NAME@2" sets NAME only for rank 2.
    const size_t at = name.find('@');
    if (at == std::string::npos || name.substr(at + 1) == std::to_string(rank)) {
      variables[name.substr(0, at)] = value;
    }
  }
  // A failed rank frees nothing, on purpose. The sanitizers must not report that as leaks, or wait
  // before the rank ends.
  variables["TSAN_OPTIONS"] = "report_thread_leaks=0:atexit_sleep_ms=0";
  variables["ASAN_OPTIONS"] = "detect_leaks=0";
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  std::vector<std::string> words{"host_driver", "--rank"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  _exit(99);
}

/// Stops and continues all ranks as `pause` says, and waits for their ends. The last remaining rank
/// may have stopped itself, so it gets SIGCONT until it ends.
void wait_all(const std::vector<pid_t>& pids, Pause pause, std::vector<Ended>* ended) {
  const auto start = Clock::now();
  if (pause.seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause.after));
    for (const pid_t pid : pids) kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause.seconds));
    for (const pid_t pid : pids) kill(pid, SIGCONT);
  }
  std::vector<size_t> running(pids.size());
  for (size_t i = 0; i < pids.size(); ++i) running[i] = i;
  while (!running.empty()) {
    std::erase_if(running, [&](size_t i) {
      int status = 0;
      if (waitpid(pids[i], &status, WNOHANG) != pids[i]) return false;
      (*ended)[i].code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      (*ended)[i].seconds = std::chrono::duration<double>(Clock::now() - start).count();
      return true;
    });
    if (running.size() == 1) kill(pids[running.front()], SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::vector<Ended> run_ranks(const std::vector<std::string>& arguments,
                             const Environment& environment, Pause pause) {
  const ReservedPort port;
  std::vector<pid_t> pids;
  for (int rank = 0; rank < kWorld; ++rank) {
    pids.push_back(start_rank(rank, port.number(), arguments, environment));
  }
  std::vector<Ended> ended(kWorld);
  wait_all(pids, pause, &ended);
  for (int rank = 0; rank < kWorld; ++rank) {
    ended[static_cast<size_t>(rank)].out = read_file(scratch(rank, "out"));
    ended[static_cast<size_t>(rank)].err = read_file(scratch(rank, "err"));
    unlink(scratch(rank, "out").c_str());
    unlink(scratch(rank, "err").c_str());
  }
  return ended;
}

void expect_right(Environment environment) {
  for (const char* seed : {"0", "1", "2", "3", "4", "5"}) {
    environment["HIRGEN_CPU_SEED"] = seed;
    for (const Ended& rank :
         run_ranks({"--checks", "20", "--iters", "5", "--repeats", "1", "--timeout", "10"},
                   environment)) {
      HG_EXPECT_EQ(rank.code, 0);
      HG_EXPECT_EQ(rank.err, "");
    }
  }
}

bool chosen(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace hirgen::test
