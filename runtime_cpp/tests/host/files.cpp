// Tests of the parts of the driver that need no device: options, faults, JSON, safetensors, shards
// and meshes, the report.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/json.hpp"
#include "context/device.hpp"
#include "driver/host_shards.hpp"
#include "driver/options.hpp"
#include "driver/report.hpp"
#include "driver/safetensors.hpp"
#include "hirgen/mesh.hpp"
#include "test.hpp"
#include "watchdog/fault.hpp"

namespace hirgen {
namespace {

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string usage_error(const std::vector<const char*>& arguments) {
  const test::Thrown thrown = test::thrown_by([&] { parse(arguments); });
  HG_EXPECT_EQ(thrown.code, Code::kUsage);
  return thrown.message;
}

/// A path of a file, which is removed at the end of the test.
class TemporaryPath {
 public:
  TemporaryPath() : path_("/tmp/hirgen_test_" + std::to_string(getpid()) + ".safetensors") {}
  ~TemporaryPath() { std::remove(path_.c_str()); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::string& get() const { return path_; }
  void write(const std::string& content) const { std::ofstream(path_) << content; }

 private:
  std::string path_;
};

TensorDesc tensor(const char* name, DType dtype, std::vector<Axis> axes) {
  TensorDesc desc;
  desc.name = name;
  desc.dtype = dtype;
  desc.axes = std::move(axes);
  return desc;
}

/// The shard of a whole tensor on the rank of `desc`.
std::vector<char> take_shard(const std::vector<char>& whole, const TensorDesc& desc) {
  return read_views({whole_view({"", stored_name(desc.dtype), desc.shape(), whole.data(), 0})},
                    desc, false);
}

/// A safetensors file with this header and two bytes of content.
std::string file_with(const std::string& header) {
  const uint64_t length = header.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  return text + header + "xy";
}

HG_TEST(options_are_read_in_both_forms) {
  const Options options = parse({"--iters", "3", "--seed=9", "--load", "A=a.st", "--load=B=b=c",
                                 "--no-check", "--timeout", "2.5"});
  HG_EXPECT_EQ(options.iters, 3);
  HG_EXPECT_EQ(options.seed, 9U);
  HG_EXPECT_EQ(options.timeout, 2.5);
  HG_EXPECT(!options.check);
  HG_EXPECT_EQ(options.load.size(), 2U);
  HG_EXPECT_EQ(options.load[1].second, "b=c");
}

HG_TEST(algorithms_are_chosen_by_option) {
  const Options options = parse({"--tune", "--plans", "a.json"});
  HG_EXPECT(options.tune);
  HG_EXPECT_EQ(options.plans, "a.json");
  HG_EXPECT(!parse({}).tune && parse({}).plans.empty());
  HG_EXPECT_CONTAINS(usage("chain"), "--plans FILE");
  HG_EXPECT_CONTAINS(usage("chain"), "--tune");
}

HG_TEST(bad_options_name_themselves) {
  HG_EXPECT_CONTAINS(usage_error({"--itres", "3"}), "--itres");
  HG_EXPECT_CONTAINS(usage_error({"--iters"}), "--iters needs a value");
  HG_EXPECT_CONTAINS(usage_error({"--plans"}), "--plans needs a value");
  HG_EXPECT_CONTAINS(usage_error({"--iters", "0"}), "--iters 0");
  HG_EXPECT_CONTAINS(usage_error({"--iters", "3x"}), "--iters 3x");
  HG_EXPECT_CONTAINS(usage_error({"--timeout", "nan"}), "--timeout nan");
  HG_EXPECT_CONTAINS(usage_error({"--load", "A"}), "NAME=FILE");
  HG_EXPECT_CONTAINS(usage_error({"file"}), "unknown option file");
}

HG_TEST(faults_are_parsed_whole) {
  const fault::Plan plan = fault::parse("stop:3:2:7");
  HG_EXPECT(plan.kind == fault::Kind::kStop);
  HG_EXPECT_EQ(plan.rank, 3);
  HG_EXPECT_EQ(plan.call, 2);
  HG_EXPECT_EQ(plan.statement, 7);
  HG_EXPECT_EQ(fault::parse("kill:0:1").statement, 1);
  for (const char* bad : {"", "kill", "kill:0", "burn:0:1", "kill:-1:1", "kill:0:0", "kill:0:1:0",
                          "kill:0:1:1:1", "kill:a:1"}) {
    HG_EXPECT_EQ(test::thrown_by([&] { fault::parse(bad); }).code, Code::kUsage);
  }
}

HG_TEST(json_is_read_and_malformed_json_is_not) {
  const JsonValue value =
      parse_json(R"({"a": [1, -2.5e1, "x\n\u00e9"], "b": {"c": null}, "d": true})");
  HG_EXPECT_EQ(value.find("a")->items[1].number, -25.0);
  HG_EXPECT_EQ(value.find("a")->items[2].text, "x\n\xc3\xa9");
  HG_EXPECT(value.find("b")->find("c")->kind == JsonValue::Kind::kNull);
  HG_EXPECT(value.find("d")->boolean);
  for (const char* bad : {"", "{", "[1,", "[1,]", "{\"a\":1,\"a\":2}", "\"a", "\"\\x\"",
                          "\"\\u12\"", "1 2", "nul", "--1", "{1:2}", "\"\n\""}) {
    HG_EXPECT_EQ(test::thrown_by([&] { parse_json(bad); }).code, Code::kEnvironment);
  }
  HG_EXPECT_CONTAINS(test::thrown_by([] { parse_json(std::string(100, '[')); }).message, "deep");
}

HG_TEST(written_json_is_read_back) {
  JsonWriter writer;
  writer.begin_object().value("text", "a \"quoted\"\\\n").value("big", int64_t{1} << 40);
  writer.value("yes", true).value("no", false);
  writer.begin_array("list").value(nullptr, 0.5).null(nullptr).begin_object().end_object();
  writer.end_array().end_object();
  const JsonValue value = parse_json(writer.text());
  HG_EXPECT_EQ(value.find("text")->text, "a \"quoted\"\\\n");
  HG_EXPECT_EQ(value.find("big")->number, 0x1p40);
  HG_EXPECT(value.find("yes")->boolean && !value.find("no")->boolean);
  HG_EXPECT_EQ(value.find("list")->items.size(), 3U);
}

HG_TEST(a_tensor_survives_its_file) {
  const TemporaryPath path;
  const TensorDesc desc = tensor("A \"1\"", DType::kBf16, {{2, 1, 0}, {3, 1, 0}});
  const std::vector<char> elements{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  write_safetensors(path.get(), desc, elements);
  const SafetensorsFile file(path.get());
  HG_EXPECT_EQ(file.tensors().front().name, desc.name);
  const StoredView view = whole_view(file.tensors().front());
  HG_EXPECT(read_views({view}, desc, false) == elements);
  HG_EXPECT_EQ(reinterpret_cast<uintptr_t>(view.bases[0]) % 8, 0U);
  // Type and shape must match the tensor, even if the number of bytes does.
  const auto load = [&](DType type, std::vector<Axis> axes) {
    return test::thrown_by([&] { read_views({view}, tensor("B", type, std::move(axes)), false); })
        .message;
  };
  HG_EXPECT_CONTAINS(load(DType::kFp16, {{2, 1, 0}, {3, 1, 0}}), "is BF16 [2, 3] and B needs F16");
  HG_EXPECT_CONTAINS(load(DType::kBf16, {{7, 1, 0}}), "needs BF16 [7]");
  HG_EXPECT_CONTAINS(load(DType::kBf16, {{3, 1, 0}, {2, 1, 0}}), "needs BF16 [3, 2]");
}

HG_TEST(files_that_lie_are_refused) {
  const TemporaryPath path;
  const auto open = [&] { SafetensorsFile file(path.get()); };
  HG_EXPECT_CONTAINS(test::thrown_by(open).message, "No such file");
  for (const std::string& content :
       {std::string("short"), std::string("\xff\xff\xff\xff\xff\xff\xff\xff"), file_with("[]"),
        file_with("{"), file_with(R"({"A": {"dtype": "F16", "shape": [1]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [1], "data_offsets": [0, 3]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [1], "data_offsets": [2, 1]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [-1], "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [1.5], "data_offsets": [0, 2]}})"),
        // Bytes that do not make up the shape, and members of a wrong type.
        file_with(R"({"A": {"dtype": "F16", "shape": [2], "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [], "data_offsets": [0, 1]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [4294967296, 4294967297],
                            "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": 16, "shape": [1], "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": 1, "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": "F16", "shape": [1], "data_offsets": 2}})"),
        file_with(R"({"A": []})"),
        // Bytes that belong to two tensors, or to none.
        file_with(R"({"A": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]},
                      "B": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}})"),
        file_with(R"({"A": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})"),
        file_with(R"({"A": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})"),
        file_with("{}")}) {
    path.write(content);
    const test::Thrown thrown = test::thrown_by(open);
    HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
    HG_EXPECT_CONTAINS(thrown.message, path.get());
  }
  path.write("");
  HG_EXPECT_CONTAINS(test::thrown_by(open).message, path.get());
}

HG_TEST(a_file_may_hold_other_tensors_in_any_order) {
  const TemporaryPath path;
  path.write(file_with(R"({"__metadata__": {"by": "x"},
      "A": {"dtype": "U8", "shape": [1, 1], "data_offsets": [1, 2]},
      "B": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
      "E": {"dtype": "I64", "shape": [0, 7], "data_offsets": [1, 1]}})"));
  const SafetensorsFile file(path.get());
  HG_EXPECT_EQ(file.tensors().size(), 3U);
}

HG_TEST(an_unwritable_file_is_an_environment_error) {
  const TensorDesc desc = tensor("A", DType::kBf16, {{1, 1, 0}});
  const auto write = [&] { write_safetensors("/nonexistent/a.st", desc, {1, 2}); };
  HG_EXPECT_EQ(test::thrown_by(write).code, Code::kEnvironment);
  HG_EXPECT_CONTAINS(test::thrown_by(write).message, "/nonexistent/a.st");
}

HG_TEST(options_given_twice_are_refused) {
  HG_EXPECT_CONTAINS(usage_error({"--iters", "3", "--iters=4"}), "--iters is given twice");
  HG_EXPECT_CONTAINS(usage_error({"--json", "a", "--json", "a"}), "--json is given twice");
  HG_EXPECT_CONTAINS(usage_error({"--no-check", "--no-check"}), "--no-check is given twice");
  HG_EXPECT_CONTAINS(usage_error({"--load", "A=a", "--load", "A=b"}), "--load A is given twice");
  HG_EXPECT_CONTAINS(usage_error({"--dump", "C=a", "--dump=C=b"}), "--dump C is given twice");
  HG_EXPECT_EQ(parse({"--load", "A=a", "--load", "B=a", "--dump", "A=c"}).load.size(), 2U);
}

HG_TEST(a_secret_is_required_by_option) {
  HG_EXPECT(!parse({}).require_secret && parse({"--require-secret"}).require_secret);
  HG_EXPECT_CONTAINS(usage("chain"), "--require-secret");
}

// Shards of a tensor with any axis split, put back together, are the tensor.
HG_TEST(slices_make_up_the_whole) {
  for (size_t split = 0; split < 3; ++split) {
    std::vector<char> whole(4 * 6 * 2 * 2);
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>(i);
    std::vector<char> rebuilt(whole.size());
    for (int rank = 0; rank < 2; ++rank) {
      TensorDesc desc = tensor("A", DType::kBf16, {{4, 1, 0}, {6, 1, 0}, {2, 1, 0}});
      desc.axes[split].mesh_extent = 2;
      desc.axes[split].mesh_coordinate = rank;
      put_shard(&rebuilt, desc, take_shard(whole, desc).data());
    }
    HG_EXPECT(rebuilt == whole);
  }
}

// A rank outside a tensor's mesh adds nothing to the whole.
HG_TEST(a_rank_outside_the_mesh_has_no_shard) {
  TensorDesc desc = tensor("A", DType::kBf16, {{4, 2, 0}, {3, 1, 0}});
  desc.present = false;
  HG_EXPECT_EQ(desc.local_elements(), 0);
  const std::vector<char> whole(24, 'x');
  HG_EXPECT(take_shard(whole, desc).empty());
  std::vector<char> rebuilt = whole;
  put_shard(&rebuilt, desc, nullptr);
  HG_EXPECT(rebuilt == whole);
}

HG_TEST(a_mesh_knows_its_ranks) {
  const Mesh grid({2, 2}, {5, 1, 6, 2});
  HG_EXPECT(grid.holds(6) && !grid.holds(0));
  HG_EXPECT((grid.team(6) == std::vector<int>{5, 1, 6, 2}));
  HG_EXPECT((grid.team(6, 1) == std::vector<int>{6, 2}));
  HG_EXPECT(grid.team(0).empty() && grid.team(0, 1).empty());
  HG_EXPECT(grid.rank_along(6, 0, 0) == 5 && grid.rank_along(6, 0, 1) == 6);
  HG_EXPECT(grid.rank_along(6, 1, 1) == 2 && grid.rank_along(1, 0, 1) == 2);
  HG_EXPECT_EQ(grid.rank_along(0, 0, 1), -1);
  HG_EXPECT_EQ(grid.counterpart(6, Mesh({4})), 2);
  HG_EXPECT_EQ(grid.counterpart(0, Mesh({4})), -1);
}

HG_TEST(a_slice_is_the_one_of_its_coordinates) {
  // [4, 6] with both axes split in two: rank (1, 0) holds rows 2-3, columns 0-2.
  std::vector<char> whole(4 * 6 * 4);
  for (int i = 0; i < 24; ++i) std::memcpy(whole.data() + 4 * i, &i, 4);
  const auto shard = take_shard(whole, tensor("A", DType::kFp32, {{4, 2, 1}, {6, 2, 0}}));
  std::vector<int> got(shard.size() / 4);
  std::memcpy(got.data(), shard.data(), shard.size());
  HG_EXPECT((got == std::vector<int>{12, 13, 14, 18, 19, 20}));
}

Report sample(const ProgramInfo& info) {
  Report report;
  report.info = &info;
  report.ranks.push_back({0, 12, 0, "host", "0000:01:00.0", "a device"});
  report.repeat_seconds = {3e-3, 1e-3, 2e-3};
  return report;
}

HG_TEST(rates_follow_from_the_median) {
  ProgramInfo info;
  info.name = "ag_matmul";
  info.largest = "allgather";
  info.mesh_size = 8;
  info.team_size = 4;  // ranks of the communicator, along one axis of the mesh
  info.bytes = 8'000'000;
  info.gemms = {{1000, 1000, 1000, 2}};
  info.parameters = {{"M", 1000}};
  Report report = sample(info);
  report.wrong = 3;
  const JsonValue json = parse_json(to_json(report));
  HG_EXPECT_EQ(json.find("time_us")->find("median")->number, 2000.0);
  HG_EXPECT_EQ(json.find("time_us")->find("repeats")->items[2].number, 2000.0);
  HG_EXPECT_EQ(json.find("tflops")->number, 2.0);
  HG_EXPECT_EQ(json.find("algbw_gbs")->number, 4.0);
  HG_EXPECT_EQ(json.find("busbw_gbs")->number, 3.0);
  HG_EXPECT_EQ(json.find("wrong")->number, 3.0);
  HG_EXPECT_EQ(json.find("count")->number, 1e6);  // of one rank, as nccl-tests counts
  HG_EXPECT_EQ(json.find("parameters")->find("M")->number, 1000.0);
  HG_EXPECT_EQ(json.find("plans")->items.size(), 0U);
  HG_EXPECT_CONTAINS(columns(report), "3 wrong elements in 2 checked calls (exact): FAILED");
  HG_EXPECT_CONTAINS(columns(report),
                     "2000.00    1000.00    3000.00      2.00     4.00     3.00        3");
  report.wrong = 0, report.checked = 10, report.unsure = 4;
  HG_EXPECT_CONTAINS(columns(report), "# 4 of 10 elements are not compared");
  HG_EXPECT_CONTAINS(columns(report), "0 wrong elements in 2 checked calls (exact): OK");
  report.unsure = 10;
  HG_EXPECT_CONTAINS(columns(report), "# Nothing was compared in 2 checked calls: NOT CHECKED");
  report.wrong.reset();
  HG_EXPECT_CONTAINS(columns(report), "N/A");
  HG_EXPECT(parse_json(to_json(report)).find("wrong")->kind == JsonValue::Kind::kNull);
  HG_EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  HG_EXPECT_EQ(bus_factor("allreduce", 4), 1.5);
  HG_EXPECT_EQ(bus_factor("broadcast", 4), 1.0);
}

HG_TEST(the_report_lists_every_communication) {
  ProgramInfo info;
  info.bytes = 8'000'000;
  Report report = sample(info);
  HG_EXPECT_EQ(communications(info), "none");
  HG_EXPECT(parse_json(to_json(report)).find("largest_communication")->kind ==
            JsonValue::Kind::kNull);
  info.communications = {"allgather x", "reducescatter x", "allgather x", "sendrecv y of left"};
  info.largest = "reducescatter";
  info.team_size = 4;
  HG_EXPECT_CONTAINS(header(report),
                     "# Communication: allgather x (2), reducescatter x, sendrecv y of left\n");
  HG_EXPECT_CONTAINS(header(report), "those of the largest, reducescatter\n");
  const JsonValue json = parse_json(to_json(report));
  HG_EXPECT_EQ(json.find("communication")->text,
               "allgather x (2), reducescatter x, sendrecv y of left");
  HG_EXPECT_EQ(json.find("communications")->items.size(), 4U);
  HG_EXPECT_EQ(json.find("largest_communication")->text, "reducescatter");
  HG_EXPECT_EQ(json.find("busbw_gbs")->number, 3.0);  // of the largest communication only
}

HG_TEST(the_report_says_who_chose_each_algorithm) {
  ProgramInfo info;
  info.bytes = 8;
  Report report = sample(info);
  report.plans.resize(2);
  report.plans[0].gemm = "C[1, 2]";
  report.plans[0].source = PlanSource::kFile;
  report.plans[0].algorithm = {"cuBLASLt", std::string(64, '\0')};
  report.plans[1].gemm = "C[3, 4]";
  report.plans[1].source = PlanSource::kTuned;
  report.plans[1].measured = PlanMeasurement{"chain", 2, 24, 3e-3, 2e-3};
  const std::vector<JsonValue> plans = parse_json(to_json(report)).find("plans")->items;
  HG_EXPECT_EQ(plans[0].find("gemm")->text, "C[1, 2]");
  HG_EXPECT_EQ(plans[0].find("source")->text, "file");
  HG_EXPECT_EQ(plans[0].find("library")->text, "cuBLASLt");
  HG_EXPECT_EQ(plans[0].find("algorithm")->text, std::string(128, '0'));
  HG_EXPECT(plans[0].find("us") == nullptr);
  HG_EXPECT_EQ(plans[1].find("source")->text, "tuned");
  HG_EXPECT_EQ(plans[1].find("candidates")->number, 24.0);
  HG_EXPECT_EQ(plans[1].find("default_us")->number, 3000.0);
  HG_EXPECT_EQ(plans[1].find("us")->number, 2000.0);
  HG_EXPECT_CONTAINS(plans_table(report.plans), "# C[1, 2] file               -            -");
  HG_EXPECT_CONTAINS(plans_table(report.plans),
                     "# C[3, 4] tuned             24      3000.00      2000.00");
}

HG_TEST(large_allocations_are_whole_pages) {
  for (const size_t bytes : {size_t{1}, size_t{65537}, size_t{(1 << 20) - 1}}) {
    HG_EXPECT_EQ(allocation_bytes(bytes), bytes);
  }
  HG_EXPECT_EQ(allocation_bytes(36864000), size_t{563} * 65536);
  HG_EXPECT_EQ(allocation_bytes(32768000), size_t{32768000});
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
