#include "calibrate/figures.hpp"

#include <cstdint>

#include "base/json.hpp"

namespace hirgen {

namespace {

// Constants of an H200 for figures that --calibrate cannot measure. They include cuBLASLt's tiles
// with the shares of the sustained and peak rates that the tiles reach, and the SMs that NCCL and a
// copy by a kernel occupy.
struct Tile {
  int64_t m, n;
  double sustained, peak;
};
constexpr Tile kTiles[] = {
    {128, 256, 0.95, 1},    {256, 128, 0.99, 0.98}, {128, 192, 0.91, 0.91}, {192, 128, 0.99, 0.93},
    {128, 160, 0.84, 0.84}, {160, 128, 0.95, 1},    {128, 128, 0.87, 0.91}, {128, 64, 0.79, 0.89},
    {64, 128, 0.71, 0.73},  {64, 64, 0.76, 0.78},
};
constexpr int kNcclSms = 24;
constexpr int kCopySms = 16;
constexpr double kNcclStep = 0.6;  // microseconds of a step of a ring

void put(JsonWriter& out, const char* key, const RateCurve& curve) {
  out.begin_array(key);
  for (const RatePoint& point : curve) {
    out.begin_array().value(nullptr, point.bytes).value(nullptr, point.gbps).end_array();
  }
  out.end_array();
}

void put(JsonWriter& out, const char* key, const std::map<std::string, double>& values) {
  out.begin_object(key);
  for (const auto& [name, value] : values) out.value(name.c_str(), value);
  out.end_object();
}

void put(JsonWriter& out, const char* key, const CollectiveFigures& row) {
  out.begin_object(key).value("ranks", int64_t{row.ranks}).value("latency_us", row.latency_us);
  put(out, "gbps", row.gbps);
  out.end_object();
}

void put(JsonWriter& out, const char* key, const std::vector<CollectiveFigures>& rows) {
  out.begin_array(key);
  for (const CollectiveFigures& row : rows) put(out, nullptr, row);
  out.end_array();
}

// Returns `count` SMs, or about half of a GPU's SMs if it does not have more than `count`.
int64_t some_of(int sms, int count) { return count < sms ? count : (sms - 1) / 2; }

}  // namespace

int64_t nccl_sms(int sms) { return some_of(sms, kNcclSms); }

std::string to_json(const Figures& f) {
  JsonWriter out;
  out.begin_object().value("name", f.name).value("source", f.source);
  out.value("sms", int64_t{f.sms}).begin_object("gemm");
  for (const auto& [dtype, rate] : f.gemm) {
    out.begin_object(dtype.c_str()).value("sustained_tflops", rate.sustained_tflops);
    out.value("peak_tflops", rate.peak_tflops).end_object();
  }
  out.end_object().value("row_scales_apart", f.row_scales_apart).begin_array("tiles");
  for (const Tile& tile : kTiles) {
    out.begin_object().value("m", tile.m).value("n", tile.n);
    out.value("sustained", tile.sustained).value("peak", tile.peak).end_object();
  }
  out.end_array();
  put(out, "hbm_gbps", f.hbm);
  out.value("kernel_share", f.kernel_share);
  out.value("l2_gbps", f.l2_gbps).value("l2_bytes", static_cast<int64_t>(f.l2_bytes));
  put(out, "device_us", f.device);
  put(out, "host_us", f.host);
  out.begin_object("links");
  put(out, "pull_gbps", f.pull);
  put(out, "push_gbps", f.push);
  put(out, "sm_copy_gbps", f.sm_copy);
  out.value("sm_copy_sms", some_of(f.sms, kCopySms)).value("limit_gbps", f.limit_gbps).end_object();
  out.begin_object("nccl").value("sms", nccl_sms(f.sms)).value("step_us", kNcclStep);
  put(out, "pair", f.pair);
  put(out, "allreduce", f.allreduce);
  put(out, "teams", f.teams);
  out.end_object();
  put(out, "beside", f.beside);
  return out.end_object().text() + "\n";
}

}  // namespace hirgen
