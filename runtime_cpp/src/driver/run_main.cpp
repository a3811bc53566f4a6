// main() of an emitted program: turns errors into a message and an exit code.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/current_error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "bootstrap/launch_env.hpp"
#include "calibrate/calibrate.hpp"
#include "driver/driver.hpp"
#include "driver/options.hpp"
#include "hirgen/error.hpp"
#include "hirgen/program.hpp"

namespace hirgen {

namespace {

void complain(const std::string& who, const Error& error) {
  const std::string text = "hirgen: " + who + ": " + error.what() + "\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

// After a failure, does not destroy the driver and the context, and ends the process here, because
// the device may never answer.
Code run_rank(Context& context, const ProgramTable& table, const Options& options) {
  std::unique_ptr<Driver> driver;
  try {
    if (!options.calibrate.empty()) {
      calibrate(context, options);
      return Code::kOk;
    }
    driver = std::make_unique<Driver>(context, table, options);
    return driver->run();
  } catch (...) {
    const Error error = current_error();
    static_cast<void>(driver.release());
    context.fail(error);
    complain(format("%s rank %d", table.info.name.c_str(), context.rank()), error);
    _exit(static_cast<int>(error.code()));
  }
}

}  // namespace

int run_main(int argc, char** argv, const ProgramTable& table) {
  std::string who = table.info.name;
  try {
    Options options = parse_options(argc, argv);
    if (options.help) {
      print(usage(table.info.name));
      return 0;
    }
    ContextOptions joining = options_from_environment(table.info, options.timeout);
    joining.require_secret = options.require_secret;
    joining.running_time = options.running_time;
    who += format(" rank %d", joining.rank);
    check_tensor_names(table.tensors(joining.rank), options);
    check_trace(table.info, options);
    options = with_launches(table.info, options);
    Context context(joining);
    return static_cast<int>(run_rank(context, table, options));
  } catch (...) {
    const Error error = current_error();
    complain(who, error);
    return static_cast<int>(error.code());
  }
}

}  // namespace hirgen
