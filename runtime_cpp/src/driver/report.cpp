#include "driver/report.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/text.hpp"
#include "hirgen/collective_rows.hpp"

namespace hirgen {

namespace {

constexpr int kSchema = 1;

std::string cuda_version(int number) { return format("%d.%d", number / 1000, number % 1000 / 10); }

std::string nccl_version(int number) {
  return format("%d.%d.%d", number / 10000, number % 10000 / 100, number % 100);
}

// A kind of communication.
struct Kind {
  bool sliced = false;  // each rank contributes or receives a shard
  int rounds = 1;       // how often data goes around a ring
};

Kind kind_of(const std::string& name) {
#define HG_KIND(kind, sliced, rounds) \
  if (name == #kind) return {sliced, rounds};
  HG_COLLECTIVES(HG_KIND)
#undef HG_KIND
  return {};
}

// The number of elements that nccl-tests would report for the largest communication: the elements
// of one rank if ranks contribute or receive shards.
int64_t count(const Report& report) {
  const ProgramInfo& info = *report.info;
  const auto elements = info.bytes / static_cast<int64_t>(size_of(report.dtype));
  return kind_of(info.largest).sliced ? elements / info.team_size : elements;
}

// Rates of the median repeat: TFLOP/s of a rank, and GB/s of the largest communication.
struct Rates {
  double seconds, tflops, algbw, busbw;
};

Rates rates(const Report& report) {
  const ProgramInfo& info = *report.info;
  const double seconds = median(report.repeat_seconds);
  const double algbw = static_cast<double>(info.bytes) / seconds / 1e9;
  return {seconds, flops(info) / seconds / 1e12, algbw,
          algbw * bus_factor(info.largest, info.team_size)};
}

std::string wrong_text(const Report& report) {
  return report.wrong ? std::to_string(*report.wrong) : "N/A";
}

std::string memory_text(const MemoryBytes& memory) {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return format(
      "# Memory of rank 0 beyond inputs and outputs: %.1f MB: %.1f MB of buffers, %.1f MB of "
      "workspaces, %.1f MB that other ranks reach\n",
      megabytes(memory.total()), megabytes(memory.buffers), megabytes(memory.workspaces),
      megabytes(memory.ipc));
}

std::string verdict(const Report& report) {
  if (!report.wrong) return "# Not checked.\n";
  const std::string how =
      report.tolerance == 0 ? std::string("exact")
                            : format("within rounding, relative tolerance %.3g", report.tolerance);
  const std::string special = report.not_finite == 0
                                  ? std::string()
                                  : format(
                                        "# %ld checked elements are NaN or infinite, as in the "
                                        "reference\n",
                                        static_cast<long>(report.not_finite));
  const auto calls = format("%ld checked call%s", static_cast<long>(report.options.checks),
                            report.options.checks == 1 ? "" : "s");
  const std::string unsure =
      report.unsure == 0 ? std::string()
                         : format(
                               "# %ld of %ld elements are not compared, since rounding or NaN "
                               "decides them\n",
                               static_cast<long>(report.unsure), static_cast<long>(report.checked));
  if (report.unsure > 0 && report.unsure == report.checked)
    return special + unsure + "# Nothing was compared in " + calls + ": NOT CHECKED\n";
  return special + unsure +
         format("# %ld wrong elements in %s (%s): %s\n", static_cast<long>(*report.wrong),
                calls.c_str(), how.c_str(), *report.wrong == 0 ? "OK" : "FAILED");
}

void write_program(JsonWriter& json, const Report& report) {
  const ProgramInfo& info = *report.info;
  json.value("program", info.name).value("spec", info.spec).value("digest", info.digest);
  json.begin_object("parameters");
  for (const auto& [name, number] : info.parameters) json.value(name.c_str(), number);
  json.end_object();
  json.value("communication", communications(info)).begin_array("communications");
  for (const std::string& text : info.communications) json.value(nullptr, text);
  json.end_array();
  if (info.largest.empty()) {
    json.null("largest_communication");
  } else {
    json.value("largest_communication", info.largest);
  }
  json.value("transport", report.transport);
  json.value("memory_bytes", report.memory.total()).begin_object("memory");
  json.value("buffers", report.memory.buffers).value("workspaces", report.memory.workspaces);
  json.value("ipc", report.memory.ipc).end_object();
  json.value("bytes", info.bytes);
  json.value("count", count(report)).value("type", spelling(report.dtype));
  json.begin_array("gemms");
  for (const GemmInfo& gemm : info.gemms) {
    json.begin_object().value("m", gemm.m).value("n", gemm.n).value("k", gemm.k);
    json.value("batch", gemm.batch).end_object();
  }
  json.end_array();
}

void write_options(JsonWriter& json, const Options& options) {
  json.begin_object("options");
  json.value("iters", options.iters).value("warmup", options.warmup);
  json.value("repeats", options.repeats).value("checks", options.checks);
  json.value("calls_per_graph", options.calls_per_graph);
  json.value("seed", static_cast<int64_t>(options.seed)).value("timeout", options.timeout);
  json.value("check", int64_t{options.check}).value("transport", options.transport);
  json.value("tune", int64_t{options.tune}).value("plans", options.plans);
  json.end_object();
}

void write_machine(JsonWriter& json, const Report& report) {
  json.value("cuda", cuda_version(report.versions.runtime));
  json.value("driver", cuda_version(report.versions.driver));
  json.value("nccl", nccl_version(report.versions.nccl));
  json.begin_array("ranks");
  for (const RankInfo& rank : report.ranks) {
    json.begin_object().value("rank", int64_t{rank.rank}).value("pid", int64_t{rank.pid});
    json.value("host", rank.host).value("device", int64_t{rank.device});
    json.value("bus_id", rank.bus_id).value("device_name", rank.device_name).end_object();
  }
  json.end_array();
}

void write_attentions(JsonWriter& json, const std::vector<AttentionReport>& attentions) {
  json.begin_array("attentions");
  for (const AttentionReport& attention : attentions) {
    json.begin_object().value("attention", attention.attention);
    json.value("gradient", int64_t{attention.gradient}).value("method", attention.method);
    json.value("reason", attention.reason).value("workspace_bytes", attention.workspace_bytes);
    json.end_object();
  }
  json.end_array();
}

void write_times(JsonWriter& json, const Report& report) {
  const Rates r = rates(report);
  const auto [least, most] =
      std::minmax_element(report.repeat_seconds.begin(), report.repeat_seconds.end());
  json.begin_object("time_us").value("median", r.seconds * 1e6).value("min", *least * 1e6);
  json.value("max", *most * 1e6).begin_array("repeats");
  for (const double seconds : report.repeat_seconds) json.value(nullptr, seconds * 1e6);
  json.end_array().begin_array("by_rank");
  for (const std::vector<double>& rank : report.rank_seconds) {
    json.begin_array();
    for (const double seconds : rank) json.value(nullptr, seconds * 1e6);
    json.end_array();
  }
  json.end_array().end_object();
  json.value("tflops", r.tflops).value("algbw_gbs", r.algbw).value("busbw_gbs", r.busbw);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double flops(const ProgramInfo& info) {
  double total = 0;
  for (const GemmInfo& p : info.gemms) {
    total += 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
             static_cast<double>(p.batch);
  }
  return total;
}

double bus_factor(const std::string& kind, int ranks) {
  const auto [sliced, rounds] = kind_of(kind);
  const double n = ranks;
  return sliced || rounds > 1 ? rounds * (n - 1) / n : 1;
}

std::string communications(const ProgramInfo& info) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const std::string& text : info.communications) {
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.first == text; });
    if (known != kinds.end()) {
      ++known->second;
    } else {
      kinds.emplace_back(text, 1);
    }
  }
  std::string line;
  for (const auto& [text, number] : kinds) {
    line += (line.empty() ? "" : ", ") + text;
    if (number > 1) line += format(" (%d)", number);
  }
  return line.empty() ? "none" : line;
}

std::string header(const Report& report) {
  const ProgramInfo& info = *report.info;
  std::string text = format("# hirgen %s (%s, digest %.12s)\n#", info.name.c_str(),
                            info.spec.c_str(), info.digest.c_str());
  for (const auto& [name, number] : info.parameters) {
    text += format(" %s=%ld", name.c_str(), static_cast<long>(number));
  }
  text += format(
      "\n# CUDA %s, driver %s, NCCL %s; %ld warm-up calls, %ld repeats of %ld calls\n",
      cuda_version(report.versions.runtime).c_str(), cuda_version(report.versions.driver).c_str(),
      nccl_version(report.versions.nccl).c_str(), static_cast<long>(report.options.warmup),
      static_cast<long>(report.options.repeats), static_cast<long>(report.options.iters));
  text += "# Communication: " + communications(info) + "\n";
  if (info.communications.size() > 1 && !info.largest.empty()) {
    text += "# Size and bandwidths are those of the largest, " + info.largest + "\n";
  }
  if (!report.transport.empty()) text += "# Transport: " + report.transport + "\n";
  const std::string methods = attention_methods(report.attentions);
  if (!methods.empty()) text += "# Attention: " + methods + "\n";
  text += "# Using devices\n";
  for (const RankInfo& rank : report.ranks) {
    text += format("#  Rank %2d Pid %6d on %10s device %2d [%s] %s\n", rank.rank, rank.pid,
                   rank.host.c_str(), rank.device, rank.bus_id.c_str(), rank.device_name.c_str());
  }
  return text + "#\n";
}

std::string columns(const Report& report) {
  const Rates r = rates(report);
  const auto [least, most] =
      std::minmax_element(report.repeat_seconds.begin(), report.repeat_seconds.end());
  // The first GEMM stands for the program; its batches count as rows.
  const GemmInfo gemm =
      report.info->gemms.empty() ? GemmInfo{0, 0, 0, 0} : report.info->gemms.front();
  std::string text =
      format("# %12s %12s %6s %8s %8s %8s %10s %10s %10s %9s %8s %8s %8s\n", "size", "count",
             "type", "M", "N", "K", "time", "min", "max", "TFLOP/s", "algbw", "busbw", "#wrong");
  text +=
      format("# %12s %12s %6s %8s %8s %8s %10s %10s %10s %9s %8s %8s %8s\n", "(B)", "(elements)",
             "", "", "", "", "(us)", "(us)", "(us)", "per rank", "(GB/s)", "(GB/s)", "");
  text += format("  %12ld %12ld %6s %8ld %8ld %8ld %10.2f %10.2f %10.2f %9.2f %8.2f %8.2f %8s\n",
                 static_cast<long>(report.info->bytes), static_cast<long>(count(report)),
                 spelling(report.dtype), static_cast<long>(gemm.m * gemm.batch),
                 static_cast<long>(gemm.n), static_cast<long>(gemm.k), r.seconds * 1e6,
                 *least * 1e6, *most * 1e6, r.tflops, r.algbw, r.busbw, wrong_text(report).c_str());
  return text + memory_text(report.memory) + verdict(report);
}

std::string to_json(const Report& report) {
  JsonWriter json;
  json.begin_object().value("schema", int64_t{kSchema});
  write_program(json, report);
  write_options(json, report.options);
  write_machine(json, report);
  write_plans(json, report.plans);
  write_attentions(json, report.attentions);
  write_times(json, report);
  if (report.wrong) {
    json.value("wrong", *report.wrong);
  } else {
    json.null("wrong");
  }
  json.value("relative_tolerance", report.tolerance);
  json.value("checked", report.checked).value("not_finite", report.not_finite);
  json.value("not_compared", report.unsure);
  return json.end_object().text() + "\n";
}

}  // namespace hirgen
