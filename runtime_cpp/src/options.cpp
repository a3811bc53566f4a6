#include "options.hpp"

#include <cstdlib>
#include <functional>
#include <limits>

#include "hirgen/error.hpp"
#include "text.hpp"
#include "transport.hpp"

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

std::pair<std::string, std::string> named_file(const std::string& name, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(Code::kUsage, name + " " + text + ": expected NAME=FILE with a tensor's name");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// An option that takes a value.
struct Spec {
  const char* name;
  const char* placeholder;
  const char* help;
  void (*set)(Options&, const std::string& name, const std::string& text);
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
    {"--seed", "K", "seed of the inputs (1)",
     [](Options& o, const std::string& n, const std::string& t) {
       o.seed = static_cast<uint64_t>(whole(n, t, 0));
     }},
    {"--timeout", "SECONDS", "bound of every wait (60)",
     [](Options& o, const std::string& n, const std::string& t) { o.timeout = seconds(n, t); }},
    {"--json", "FILE", "write the report there too, as one JSON object",
     [](Options& o, const std::string&, const std::string& t) { o.json = t; }},
    {"--plans", "FILE", "take the products' algorithms from this file, which --tune writes",
     [](Options& o, const std::string&, const std::string& t) { o.plans = t; }},
    {"--transport", "NAME",
     "ipc or nccl, where a program is there over both (auto: CUDA IPC where ranks can share "
     "memory)",
     [](Options& o, const std::string& n, const std::string& t) {
       check_transport(n, t);
       o.transport = t;
     }},
    {"--load", "NAME=FILE",
     "read input NAME from a safetensors file; the check is then approximate",
     [](Options& o, const std::string& n, const std::string& t) {
       o.load.push_back(named_file(n, t));
     }},
    {"--dump", "NAME=FILE",
     "write tensor NAME, as it is after the last checked call, to a "
     "safetensors file",
     [](Options& o, const std::string& n, const std::string& t) {
       o.dump.push_back(named_file(n, t));
     }},
};

const Spec* find(const std::string& name) {
  for (const Spec& spec : kSpecs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--no-check") {
      options.check = false;
    } else if (argument == "--paced") {
      options.paced = true;
    } else if (argument == "--tune") {
      options.tune = true;
    } else if (const Spec* spec = find(name); spec == nullptr) {
      throw Error(Code::kUsage, "unknown option " + argument + "; --help lists all");
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
  text += format("  %-20s %s\n", "--no-check", "do not compare with the reference");
  text += format("  %-20s %s\n", "--paced",
                 "warm up and time the repeats for each line on standard input, until it ends");
  text += format("  %-20s %s\n", "--tune",
                 "time the products' algorithms and write the best to --plans, or to "
                 "PROGRAM.plans.json");
  text += format("  %-20s %s\n", "--help", "this text");
  text +=
      "\nExit codes: 0 ok, 1 wrong elements, 2 usage, 3 environment, 4 device, 5 another rank "
      "failed,\n6 deadline exceeded, 7 internal.\n";
  return text;
}

}  // namespace hirgen
