#include "bootstrap/launch_env.hpp"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "bootstrap/launch_families.hpp"
#include "bootstrap/place.hpp"
#include "bootstrap/socket.hpp"

namespace hirgen {

namespace {

constexpr int kFirstPort = 20000;  // below the usual range of client ports
constexpr int kPorts = 12000;
constexpr const char* kLoopback = "127.0.0.1";

class LaunchReader {
 public:
  LaunchReader(const Getenv& get, const std::string& program, int parent)
      : get_(get), program_(program), parent_(parent) {}

  Launch read() const {
    const Family& family = choose();
    Launch launch = read_family(family);
    check_singleton(launch);
    launch.job = job(family);
    launch.secret = secret(family);
    if (launch.world > 1) find_meeting_point(family, &launch);
    return launch;
  }

 private:
  std::string value(const char* name) const {
    const char* text = name == nullptr ? nullptr : get_(name);
    return text == nullptr ? "" : text;
  }
  bool is_set(const char* name) const { return !value(name).empty(); }
  const char* world_name(const Family& family) const {
    return is_set(family.world) || family.world_alternative == nullptr ? family.world
                                                                       : family.world_alternative;
  }
  bool has_rank(const Family& family) const { return is_set(family.rank); }
  bool has_world(const Family& family) const { return is_set(world_name(family)); }

  static std::string line(const Family& family, const std::string& program) {
    std::string text = family.line;
    return text.replace(text.find("%s"), 2, program);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(Code::kEnvironment, message);
  }

  std::string all_lines() const {
    std::string text = "\n  hirgen run OUT -n 4";
    for (const Family& family : kLaunchers) text += "\n  " + line(family, program_);
    return text + "\n  " + line(kSlurm, program_) + "\n  " + line(kExplicit, program_);
  }

  // Chooses the family of variables to use: HIRGEN_*, else the first launcher's (unless
  // local_rank_known() prefers Slurm's), else Slurm's. If HIRGEN_* is set, looks at no other
  // family; if a launcher's variables are set, does not check Slurm's. Throws if no family is set,
  // if one that is checked lacks its rank or world size, or if two launchers disagree.
  const Family& choose() const {
    if (has_rank(kExplicit) || has_world(kExplicit)) return *complete(kExplicit);
    const Family* chosen = nullptr;
    for (const Family& family : kLaunchers) {
      if (!has_rank(family) && !has_world(family)) continue;
      if (chosen != nullptr) check_agreement(*chosen, *complete(family));
      if (chosen == nullptr) chosen = complete(family);
    }
    if (chosen != nullptr) return local_rank_known(*chosen) ? *chosen : kSlurm;
    if (has_rank(kSlurm)) return *complete(kSlurm);
    if (has_world(kSlurm)) {
      fail("this is a Slurm job but not one of its steps (SLURM_PROCID is not set): type\n  " +
           line(kSlurm, program_));
    }
    fail(
        "no launcher's variables are set, so this process does not know which rank it is; type "
        "one of (4 stands for the number of ranks)" +
        all_lines());
  }

  // Whether to use `family` rather than Slurm's variables. srun also sets the variables of PMI, but
  // none for the local rank. So if `family` has no local rank, but Slurm's variables have one, with
  // the same rank and world size, prefers Slurm's variables.
  bool local_rank_known(const Family& family) const {
    return is_set(family.local_rank) || !is_set(kSlurm.local_rank) ||
           value(family.rank) != value(kSlurm.rank) ||
           value(world_name(family)) != value(world_name(kSlurm));
  }

  // Returns `family`; throws if its rank or world size is missing.
  const Family* complete(const Family& family) const {
    if (has_rank(family) && has_world(family)) return &family;
    const char* set = has_rank(family) ? family.rank : world_name(family);
    const char* missing = has_rank(family) ? world_name(family) : family.rank;
    fail(format("%s is set and %s is not: the variables of %s are incomplete; type\n  %s", set,
                missing, family.name, line(family, program_).c_str()));
  }

  void check_agreement(const Family& first, const Family& second) const {
    if (value(first.rank) == value(second.rank) &&
        value(world_name(first)) == value(world_name(second))) {
      return;
    }
    fail(format(
        "two launchers disagree: %s says %s=%s %s=%s, %s says %s=%s %s=%s; unset the "
        "variables of one of them, or say which holds with\n  %s",
        first.name, first.rank, value(first.rank).c_str(), world_name(first),
        value(world_name(first)).c_str(), second.name, second.rank, value(second.rank).c_str(),
        world_name(second), value(world_name(second)).c_str(), line(kExplicit, program_).c_str()));
  }

  int number(const char* name, int64_t least, int64_t most) const {
    const auto parsed = parse_integer(value(name));
    if (!parsed) fail(format("%s=%s is not a number", name, value(name).c_str()));
    if (*parsed < least || *parsed > most) {
      fail(format("%s=%s is out of range: it must be at least %ld and at most %ld", name,
                  value(name).c_str(), static_cast<long>(least), static_cast<long>(most)));
    }
    return static_cast<int>(*parsed);
  }

  Launch read_family(const Family& family) const {
    Launch launch;
    launch.family = family.name;
    launch.world = number(world_name(family), 1, 1 << 20);
    launch.rank = number(family.rank, 0, launch.world - 1);
    if (is_set(family.local_rank)) launch.local_rank = number(family.local_rank, 0, 1 << 20);
    return launch;
  }

  // Throws if a launcher's world has one rank in a Slurm step of several tasks. An MPI library
  // without support for Slurm's process management starts every rank as such a world.
  void check_singleton(const Launch& launch) const {
    if (launch.family == kSlurm.name || launch.family == kExplicit.name || launch.world != 1)
      return;
    if (!has_rank(kSlurm) || !is_set(kSlurm.world)) return;
    const int tasks = number(kSlurm.world, 1, 1 << 20);
    if (tasks == 1) return;
    fail(
        format("%s says that this is the only rank while the Slurm step has %d tasks: the MPI "
               "library runs without Slurm's support; type one of\n  %s\n  %s",
               launch.family.c_str(), tasks,
               ("env -u PMI_RANK -u PMI_SIZE -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE " +
                line(kSlurm, program_))
                   .c_str(),
               line(kLaunchers[1], program_).c_str()));
  }

  std::string job(const Family& family) const {
    if (!is_set(family.job)) return "";
    std::string id = value(family.job);
    if (&family == &kSlurm) id += "." + value("SLURM_STEP_ID");
    return id;
  }

  std::string secret(const Family& family) const {
    if (is_set(kSecretVariable)) return value(kSecretVariable);
    const std::string given = value(family.secret);
    return is_job_number(given) ? "" : given;
  }

  // Whether a key is derived from the job's number, so that it is no secret. mpirun makes a random
  // key for Open MPI. Under srun the key has the job's number in both halves:
  // 012cc14200000000-012cc14200000000.
  static bool is_job_number(const std::string& key) {
    constexpr size_t kHalf = 16;
    return key.size() == 2 * kHalf + 1 && key.substr(0, kHalf) == key.substr(kHalf + 1);
  }

  // Finds the port, and the address of rank 0. The address is HIRGEN_ADDR; else the loopback
  // interface if all ranks are on this node; else MASTER_ADDR (not with HIRGEN_RANK), or under
  // Slurm the first host of the step. Without these, it is the loopback interface if the number of
  // nodes is unknown, and empty if there are several.
  void find_meeting_point(const Family& family, Launch* launch) const {
    const std::optional<bool> one_host = is_one_host(family, *launch);
    if (is_set("HIRGEN_ADDR")) {
      take_place("HIRGEN_ADDR", launch);
    } else if (one_host == true) {
      launch->address = kLoopback;  // all ranks are on this node
    } else if (&family != &kExplicit && is_set("MASTER_ADDR")) {
      take_place("MASTER_ADDR", launch);
      if (launch->port != 0) fail("MASTER_ADDR has a port, which belongs into MASTER_PORT");
    } else if (&family == &kSlurm && is_set("SLURM_STEP_NODELIST")) {
      launch->address = first_host(value("SLURM_STEP_NODELIST"));
    } else if (!one_host) {
      launch->address = kLoopback;
      launch->hint =
          "; no address is given, so the ranks met on this node alone: if they are on several, set "
          "HIRGEN_ADDR and HIRGEN_PORT";
    }
    find_port(family, launch);
  }

  // Reads an address, and the port if it has one, from the variable `name`.
  void take_place(const char* name, Launch* launch) const {
    const auto place = parse_place(value(name));
    if (!place) {
      fail(
          format("%s=%s: write a host and, if you like, a port, as in node0, node0:4000, ::1 or "
                 "[::1]:4000",
                 name, value(name).c_str()));
    }
    launch->address = place->host;
    launch->port = place->port;
  }

  void find_port(const Family& family, Launch* launch) const {
    if (is_set("HIRGEN_PORT")) {
      const int port = number("HIRGEN_PORT", 1, kLastPort);
      if (launch->port != 0 && launch->port != port) {
        fail(format("HIRGEN_ADDR has port %d and HIRGEN_PORT is %d: which of them holds?",
                    launch->port, port));
      }
      launch->port = port;
    } else if (launch->port != 0) {
      return;  // HIRGEN_ADDR contains the port
    } else if (&family != &kExplicit && is_set("MASTER_PORT")) {
      // torchrun's own store listens at MASTER_PORT, so rank 0 listens at an adjacent port.
      const int port = number("MASTER_PORT", 1, kLastPort);
      launch->port = port == kLastPort ? port - 1 : port + 1;
    } else if (!launch->job.empty()) {
      launch->port = port_of(launch->job);
    } else if (is_loopback(launch->address)) {
      launch->port = port_of("parent " + std::to_string(parent_));
      launch->hint +=
          "; no port is given, so it follows from the process that started the ranks: if that is "
          "not "
          "one for all, set HIRGEN_PORT";
    }
  }

  static int port_of(const std::string& seed) {
    return kFirstPort + static_cast<int>(stable_hash(seed) % kPorts);
  }

  // Whether all ranks are on this node; nullopt if the launcher's variables do not show it.
  std::optional<bool> is_one_host(const Family& family, const Launch& launch) const {
    if (&family == &kSlurm) {
      const char* nodes = is_set("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
      if (!is_set(nodes)) return std::nullopt;
      return value(nodes) == "1";
    }
    if (!is_set(family.local_world)) return std::nullopt;
    return number(family.local_world, 1, 1 << 20) == launch.world;
  }

  // The first host of a Slurm node list: "gpu[03-05,09],login" -> "gpu03".
  static std::string first_host(const std::string& list) {
    const size_t bracket = list.find('[');
    const size_t comma = list.find(',');
    if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
    const size_t end = list.find_first_of("-,]", bracket);
    if (end == std::string::npos) return "";
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
  }

  const Getenv& get_;
  const std::string& program_;
  int parent_;
};

// HIRGEN_JOB_SECRET, for host programs that pass their rank to the library themselves.
std::string environment_secret() {
  const char* text = std::getenv(kSecretVariable);
  return text == nullptr ? "" : text;
}

}  // namespace

Launch read_launch(const Getenv& get, const std::string& program, int parent) {
  return LaunchReader(get, program, parent).read();
}

namespace {

// The program's parameters as text, "D=2 M=128": as many as fit into 4096 bytes.
std::string parameters_text(const ProgramInfo& info) {
  constexpr size_t kMost = 4096;
  std::string text;
  for (const auto& [name, value] : info.parameters) {
    const std::string word = (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    if (text.size() + word.size() > kMost) break;
    text += word;
  }
  return text;
}

}  // namespace

ContextOptions context_options(const Launch& launch, const ProgramInfo& info,
                               double timeout_seconds) {
  ContextOptions options;
  options.rank = launch.rank;
  options.world = launch.world;
  options.local_rank = launch.local_rank;
  options.address = launch.address;
  options.port = launch.port;
  options.job = launch.job;
  options.secret = launch.secret.empty() ? environment_secret() : launch.secret;
  options.meeting_hint = launch.hint;
  options.timeout_seconds = timeout_seconds;
  options.program = info.name;
  options.digest = info.digest;
  options.parameters = parameters_text(info);
  options.mesh_size = info.mesh_size;
  if (launch.world == 1 || (!launch.address.empty() && launch.port != 0)) return options;
  if (launch.world != info.mesh_size) {
    throw Error(Code::kEnvironment,
                format("%s was generated for %d ranks and %s says that there are %d",
                       info.name.c_str(), info.mesh_size, launch.family.c_str(), launch.world));
  }
  throw Error(Code::kEnvironment,
              format("%s does not say where rank 0 listens: set %s, the same on every rank, as in\n"
                     "  export HIRGEN_ADDR=<host of rank 0> HIRGEN_PORT=23456",
                     launch.family.c_str(),
                     launch.address.empty() ? "HIRGEN_ADDR and HIRGEN_PORT" : "HIRGEN_PORT"));
}

ContextOptions options_from_environment(const ProgramInfo& info, double timeout_seconds) {
  const Getenv get = [](const char* name) -> const char* { return std::getenv(name); };
  const Launch launch = read_launch(get, "./" + info.name, static_cast<int>(getppid()));
  return context_options(launch, info, timeout_seconds);
}

}  // namespace hirgen
