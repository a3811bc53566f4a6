#include "calibrate/calibrate.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/files.hpp"
#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "calibrate/bench.hpp"
#include "calibrate/figures.hpp"
#include "context/device.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr const char* kCalibrate = "calibrate";

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  HG_CHECK(cudaGetDevice(&device), kCalibrate);
  HG_CHECK(cudaDeviceGetAttribute(&value, which, device), kCalibrate);
  return value;
}

Figures describe(const Context& context) {
  Figures figures;
  int nccl = 0, runtime = 0;
  HG_CHECK(ncclGetVersion(&nccl), kCalibrate);
  HG_CHECK(cudaRuntimeGetVersion(&runtime), kCalibrate);
  const std::string device = device_name(context.options().device);
  figures.name = format("%d x %s", context.world(), device.c_str());
  figures.source = format(
      "measured by --calibrate on %s, CUDA %d.%d, NCCL %d; tiles, the SMs of copies and NCCL and "
      "the cost of a call are those of an H200",
      figures.name.c_str(), runtime / 1000, runtime % 1000 / 10, nccl);
  figures.sms = std::max(2, attribute(cudaDevAttrMultiProcessorCount));
  return figures;
}

}  // namespace

void calibrate(Context& context, const Options& options) {
  if (context.world() < 2) {
    throw Error(Code::kUsage, "--calibrate measures links between GPUs: start 2 ranks or more");
  }
  Figures figures = describe(context);
  Bench bench(context);
  bench.memory(figures);
  bench.calls(figures);
  bench.gemms(figures);
  bench.links(figures);
  bench.collectives(figures);
  bench.contention(figures);
  if (context.rank() == 0) {
    const std::string text = to_json(figures);
    write_file(options.calibrate, {{text.data(), text.size()}}, options.timeout);
    std::printf("# Calibration of %s in %s: hirgen check SPEC --machine %s\n", figures.name.c_str(),
                options.calibrate.c_str(), options.calibrate.c_str());
    std::fflush(stdout);
  }
  context.rendezvous().barrier("end of the calibration");
}

}  // namespace hirgen
