#include "driver/options.hpp"

#include <cstdlib>
#include <functional>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "hirgen/error.hpp"
#include "ipc/transport.hpp"

namespace hirgen {

namespace {

constexpr int64_t kMost = 1'000'000'000;

int64_t whole(const std::string& name, const std::string& text, int64_t least) {
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > kMost) {
    throw Error(Code::kUsage,
                format("%s %s: expected a whole number from %ld to %ld", name.c_str(), text.c_str(),
                       static_cast<long>(least), static_cast<long>(kMost)));
  }
  return *value;
}

double seconds(const std::string& name, const std::string& text) {
  const auto value = parse_number(text);
  if (!value || *value < 1 || *value > 1e6) {
    throw Error(Code::kUsage,
                name + " " + text + ": expected a number of seconds from 1 to 1000000");
  }
  return *value;
}

[[noreturn]] void twice(const std::string& what) {
  throw Error(Code::kUsage, what + " is given twice; which of them holds?");
}

void add_file(NamedFiles* files, const std::string& name, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(Code::kUsage, name + " " + text + ": expected NAME=FILE with a tensor's name");
  }
  const std::string tensor = text.substr(0, equals);
  const std::string flag = name + " " + tensor;
  for (const auto& [other, path] : *files) {
    if (other == tensor) twice(flag);
  }
  files->emplace_back(tensor, text.substr(equals + 1));
}

// An option that takes a value.
struct Spec {
  const char* name;
  const char* placeholder;
  const char* help;
  void (*set)(Options&, const std::string& name, const std::string& text);
  bool repeats = false;  ///< may be given once for each tensor
};

constexpr Spec kSpecs[] = {
    {"--iters", "N", "calls of a timed repeat, back to back (10)",
     [](Options& o, const std::string& n, const std::string& t) { o.iters = whole(n, t, 1); }},
    {"--warmup", "N", "calls before the first repeat (5)",
     [](Options& o, const std::string& n, const std::string& t) { o.warmup = whole(n, t, 0); }},
    {"--repeats", "N", "timed repeats; the median is reported (7)",
     [](Options& o, const std::string& n, const std::string& t) { o.repeats = whole(n, t, 1); }},
    {"--checks", "N", "checked calls, back to back, each with new inputs (2)",
     [](Options& o, const std::string& n, const std::string& t) { o.checks = whole(n, t, 1); }},
    {"--calls-per-graph", "N",
     "with schedule graph: true, calls in one CUDA graph; --iters is a multiple of it (1)",
     [](Options& o, const std::string& n, const std::string& t) {
       o.calls_per_graph = whole(n, t, 1);
     }},
    {"--seed", "K", "seed of the inputs (1)",
     [](Options& o, const std::string& n, const std::string& t) {
       o.seed = static_cast<uint64_t>(whole(n, t, 0));
     }},
    {"--timeout", "SECONDS", "bound of every wait (60)",
     [](Options& o, const std::string& n, const std::string& t) { o.timeout = seconds(n, t); }},
    {"--json", "FILE", "write the report there too, as one JSON object",
     [](Options& o, const std::string&, const std::string& t) { o.json = t; }},
    {"--plans", "FILE", "take the GEMMs' algorithms from this file, which --tune writes",
     [](Options& o, const std::string&, const std::string& t) { o.plans = t; }},
    {"--transport", "NAME",
     "ipc or nccl, where a program is there over both (auto: CUDA IPC where ranks can share "
     "memory)",
     [](Options& o, const std::string& n, const std::string& t) {
       check_transport(n, t);
       o.transport = t;
     }},
    {"--trace", "FILE", "write a timeline of one repeat there, for ui.perfetto.dev",
     [](Options& o, const std::string&, const std::string& t) { o.trace = t; }},
    {"--calibrate", "FILE",
     "measure the machine instead, and write what hirgen check --machine reads",
     [](Options& o, const std::string&, const std::string& t) { o.calibrate = t; }},
    {"--load", "NAME=FILE[:TENSOR]",
     "read input NAME, or TENSOR for it, from a safetensors file or from the index of several; the "
     "check is then approximate",
     [](Options& o, const std::string& n, const std::string& t) { add_file(&o.load, n, t); }, true},
    {"--load-map", "FILE", "read the inputs that this JSON file maps to tensors of a checkpoint",
     [](Options& o, const std::string&, const std::string& t) { o.load_map = t; }},
    {"--dump", "NAME=FILE",
     "write tensor NAME, as it is after the last checked call, to a "
     "safetensors file",
     [](Options& o, const std::string& n, const std::string& t) { add_file(&o.dump, n, t); }, true},
};

// An option without a value.
struct Switch {
  const char* name;
  bool Options::* member;
  bool value;
  const char* help;
};

constexpr Switch kSwitches[] = {
    {"--no-check", &Options::check, false, "do not compare with the reference"},
    {"--paced", &Options::paced, true,
     "warm up and time the repeats for each line on standard input, until it ends"},
    {"--tune", &Options::tune, true,
     "time the GEMMs' algorithms and write the best to --plans, or to PROGRAM.plans.json"},
    {"--require-secret", &Options::require_secret, true,
     "refuse to start several ranks without a job secret (HIRGEN_JOB_SECRET)"},
    {"--running-time", &Options::running_time, true,
     "count for --timeout only the time that a rank runs, so that all may be stopped and "
     "continued"},
};

const Switch* find_switch(const std::string& name) {
  for (const Switch& one : kSwitches) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

const Spec* find(const std::string& name) {
  for (const Spec& spec : kSpecs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (const Switch* found = find_switch(argument); found != nullptr) {
      if (!given.insert(name).second) twice(name);
      options.*found->member = found->value;
    } else if (const Spec* spec = find(name); spec == nullptr) {
      throw Error(Code::kUsage, "unknown option " + argument + "; --help lists all");
    } else if (!spec->repeats && !given.insert(name).second) {
      twice(name);
    } else if (equals != std::string::npos) {
      spec->set(options, name, argument.substr(equals + 1));
    } else if (++i == argc) {
      throw Error(Code::kUsage,
                  format("%s needs a value: %s %s", spec->name, spec->name, spec->placeholder));
    } else {
      spec->set(options, name, argv[i]);
    }
  }
  return options;
}

std::string usage(const std::string& program) {
  std::string text = format(
      "usage: %s [options]\n\n"
      "Runs the program on every rank of a launcher, checks it and times it. One process per GPU:\n"
      "  hirgen run OUT -n 4 -- [options]\n"
      "  torchrun --nproc-per-node 4 --no-python ./%s [options]\n\n",
      program.c_str(), program.c_str());
  for (const Spec& spec : kSpecs) {
    const std::string left = std::string(spec.name) + " " + spec.placeholder;
    text += format("  %-20s %s\n", left.c_str(), spec.help);
  }
  for (const Switch& one : kSwitches) text += format("  %-20s %s\n", one.name, one.help);
  text += format("  %-20s %s\n", "--help", "this text");
  text +=
      "\nExit codes: 0 ok, 1 wrong elements, 2 usage, 3 environment, 4 device, 5 another rank "
      "failed,\n6 deadline exceeded, 7 internal.\n";
  return text;
}

}  // namespace hirgen
