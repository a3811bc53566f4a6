#include "calibrate/calibrate.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/files.hpp"
#include "base/text.hpp"
#include "bootstrap/rendezvous.hpp"
#include "calibrate/bench.hpp"
#include "calibrate/figures.hpp"
#include "context/device.hpp"
#include "gemm/cublaslt.hpp"
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
  const MatmulShape scaled{.m = 1, .n = 1, .k = 1, .row_scales = true};
  figures.row_scales_apart = !kCublaslt.refuses(scaled).empty();
  return figures;
}

}  // namespace

void calibrate(Context& context, const Options& options) {
  if (context.world() < 2) {
    throw Error(Code::kUsage, "--calibrate measures links between GPUs: start 2 ranks or more");
  }
  Figures figures = describe(context);
  Bench bench(context);
  const auto measure = [&](const char* what, void (Bench::*part)(Figures&)) {
    const auto start = std::chrono::steady_clock::now();
    (bench.*part)(figures);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (context.rank() == 0) print(format("# Calibrate: %s, %.1f s\n", what, took.count()));
  };
  measure("memory", &Bench::memory);
  measure("calls", &Bench::calls);
  measure("GEMMs", &Bench::gemms);
  measure("links", &Bench::links);
  measure("collectives", &Bench::collectives);
  measure("what GEMMs lose beside others", &Bench::contention);
  if (context.rank() == 0) {
    const std::string text = to_json(figures);
    write_file(options.calibrate, {{text.data(), text.size()}}, options.timeout);
    print(format("# Calibration of %s in %s: hirgen check SPEC --machine %s\n",
                 figures.name.c_str(), options.calibrate.c_str(), options.calibrate.c_str()));
  }
  context.rendezvous().barrier("end of the calibration");
}

}  // namespace hirgen
