// Tests of reading the files of --load and --load-map: shapes that fit, maps, shards, files of
// other types, and the small checkpoints of transformers in testdata.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <tuple>

#include "base/text.hpp"
#include "driver/checkpoint.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

using Floats = std::vector<float>;

/// A folder that is removed at the end of the test.
class Folder {
 public:
  Folder() { std::filesystem::create_directory(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }

 private:
  std::string path_ = format("/tmp/hirgen_checkpoints_%d", static_cast<int>(getpid()));
};

TensorDesc tensor(const char* name, std::vector<Axis> axes) {
  TensorDesc desc;
  desc.name = name;
  desc.axes = std::move(axes);
  return desc;
}

/// The numbers 0, 1, 2, ..., elements - 1.
Floats counted(int64_t elements) {
  Floats values(static_cast<size_t>(elements));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

StoredView view_of(const Floats& values, std::vector<int64_t> shape) {
  return whole_view(
      {"W", "F32", std::move(shape), reinterpret_cast<const char*>(values.data()), 0});
}

Floats floats(const std::vector<char>& bytes) {
  Floats values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The bytes of a safetensors file with a tensor of shape [2] for each name, all of one type and
/// size.
std::string file_of(const std::vector<std::string>& names, const char* type, size_t bytes) {
  std::string header, content;
  for (const std::string& name : names) {
    header += format("%s\"%s\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[%zu,%zu]}",
                     header.empty() ? "{" : ",", name.c_str(), type, content.size(),
                     content.size() + bytes);
    content += std::string(bytes, '\0');
  }
  header += "}";
  const uint64_t length = header.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  return text + header + content;
}

HG_TEST(rows_of_ranks_may_be_merged_in_the_file) {
  const Floats values = counted(32);
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {8, 4}, {2, 4, 4}, {1, 8, 4}, {2, 16}, {32}, {2, 2, 2, 4}}) {
    const auto part =
        read_views({view_of(values, shape)}, tensor("A", {{2, 2, 1}, {4, 1, 0}, {4, 1, 0}}), false);
    HG_EXPECT((floats(part) == Floats(values.begin() + 16, values.end())));
  }
}

HG_TEST(columns_of_ranks_are_found_by_the_shape) {
  const Floats values = counted(32);
  const auto part = floats(
      read_views({view_of(values, {4, 8})}, tensor("A", {{2, 2, 1}, {4, 1, 0}, {4, 1, 0}}), false));
  HG_EXPECT((part == Floats{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31}));
  const auto whole = floats(read_views(
      {view_of(values, {4, 8})}, tensor("A", {{2, 2, 1}, {1, 1, 0}, {4, 1, 0}, {4, 1, 0}}), true));
  HG_EXPECT_EQ(whole[16], 4.0F);
  HG_EXPECT_EQ(whole[4], 8.0F);
}

HG_TEST(other_shapes_are_refused_with_both_sides) {
  const Floats values = counted(32);
  const auto refused = [&](std::vector<int64_t> shape, std::vector<Axis> axes) {
    return test::thrown_by([&] {
             read_views({view_of(values, std::move(shape))}, tensor("A", std::move(axes)), false);
           })
        .message;
  };
  HG_EXPECT_CONTAINS(refused({16, 2}, {{2, 2, 0}, {4, 1, 0}, {4, 1, 0}}),
                     "W is F32 [16, 2] and A needs F32 [2, 4, 4]");
  HG_EXPECT_CONTAINS(refused({4, 8}, {{8, 1, 0}, {4, 1, 0}}), "[4, 8]");
  HG_EXPECT_CONTAINS(refused({8, 4}, {{8, 1, 0}, {5, 1, 0}}), "needs F32 [8, 5]");
  HG_EXPECT_CONTAINS(refused({2, 3, 4}, {{6, 1, 0}, {5, 1, 0}}), "needs F32 [6, 5]");
}

HG_TEST(packed_matrices_are_packed_on_each_rank) {
  const Floats first = counted(8), second = counted(16);
  const std::vector<StoredView> views{view_of(first, {4, 2}), view_of(second, {8, 2})};
  const TensorDesc desc = tensor("W", {{2, 2, 1}, {6, 1, 0}, {2, 1, 0}});
  HG_EXPECT(
      (floats(read_views(views, desc, false)) == Floats{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  const Floats whole = floats(read_views(views, desc, true));
  HG_EXPECT((Floats(whole.begin(), whole.begin() + 6) == Floats{0, 1, 2, 3, 0, 1}));
  const auto wrong = [&] { read_views({views[0], views[0]}, desc, false); };
  HG_EXPECT_CONTAINS(test::thrown_by(wrong).message, "do not make it up");
  const Floats one = counted(2);
  const auto nowhere = [&] {
    const StoredView view = view_of(one, {2, 1});
    read_views({view, view}, tensor("W", {{2, 2, 1}, {1, 1, 0}}), false);
  };
  HG_EXPECT_CONTAINS(test::thrown_by(nowhere).message, "no axis to pack tensors along");
}

HG_TEST(a_rank_reads_its_part_alone) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, page, PROT_NONE);  // ranks 0, 2 and 3: not readable
  mprotect(static_cast<char*>(memory) + 2 * page, 2 * page, PROT_NONE);
  const auto rows = static_cast<int64_t>(page / sizeof(float));
  StoredView view = whole_view({"W", "F32", {4 * rows, 1}, static_cast<const char*>(memory), 0});
  const auto part = read_views({view}, tensor("A", {{4, 4, 1}, {rows, 1, 0}}), false);
  HG_EXPECT_EQ(part.size(), page);
  munmap(memory, 4 * page);
}

HG_TEST(tensors_of_other_types_do_not_matter) {
  const Folder folder;
  for (const char* type :
       {"F4", "F6_E2M3", "F6_E3M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0", "C64", "F99"}) {
    Checkpoint checkpoint(folder.write("a.safetensors", file_of({"other"}, type, 1)));
    HG_EXPECT_EQ(checkpoint.find("other").dtype, type);
    const auto load = [&] {
      read_views({checkpoint.find("other")}, tensor("A", {{2, 1, 0}}), false);
    };
    HG_EXPECT_CONTAINS(test::thrown_by(load).message, "and A needs F32 [2]");
  }
}

Options options_of(NamedFiles load, const std::string& map = "") {
  Options options;
  options.load = std::move(load);
  options.load_map = map;
  return options;
}

HG_TEST(elements_of_8_bits_are_checked_and_counted) {
  const Folder folder;
  for (const char* type : {"F8_E4M3", "F8_E5M2"}) {
    const auto short_file = [&] {
      Checkpoint(folder.write("a.safetensors", file_of({"a"}, type, 1))).find("a");
    };
    HG_EXPECT_CONTAINS(test::thrown_by(short_file).message, "has 1 bytes");
    folder.write("1.safetensors", file_of({"a"}, type, 2));
    const std::string map = folder.write(
        "map.json",
        R"({"checkpoint": "1.safetensors", "tensors": {"A": {"rows": [1, 2], "of": "a"}, "B": "a"}})");
    LoadPlan plan(options_of({}, map));
    HG_EXPECT_EQ(plan.views("A")[0].bases[0] - plan.views("B")[0].bases[0], 1);
  }
}

HG_TEST(a_tensor_of_another_name_is_loaded) {
  const Folder folder;
  const std::string path = folder.write("a:b.safetensors", file_of({"q.weight", "x:y"}, "F32", 8));
  for (const auto& [text, name] : NamedFiles{{":q.weight", "q.weight"}, {":x:y", "x:y"}}) {
    LoadPlan plan(options_of({{"A", path + text}}));
    HG_EXPECT_EQ(plan.views("A")[0].name, name);
  }
  LoadPlan plan(options_of({{"A", path}, {"B", path + ":z"}}));
  for (const char* name : {"A", "B"}) {
    const auto load = [&] { plan.views(name); };
    HG_EXPECT_CONTAINS(test::thrown_by(load).message, "it has q.weight, x:y");
  }
}

HG_TEST(shards_are_opened_when_they_are_needed) {
  const Folder folder;
  folder.write("1.safetensors", file_of({"a"}, "F32", 8));
  const std::string index = folder.write(
      "m.index.json",
      R"({"metadata": {}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  Checkpoint checkpoint(index);
  HG_EXPECT_EQ(checkpoint.find("a").extents[0], 2);
  HG_EXPECT_CONTAINS(test::thrown_by([&] { checkpoint.find("b"); }).message, "2.safetensors");
  HG_EXPECT_CONTAINS(test::thrown_by([&] { checkpoint.find("c"); }).message, "it has a, b");
  folder.write("m.index.json", "{}");
  HG_EXPECT_CONTAINS(test::thrown_by([&] { Checkpoint none(index); }).message, "weight_map");
}

HG_TEST(maps_that_are_wrong_say_where) {
  const Folder folder;
  folder.write("1.safetensors", file_of({"a"}, "F32", 8));
  const auto failure = [&](const std::string& tensor, NamedFiles load = {}) {
    const std::string map = folder.write(
        "map.json", R"({"checkpoint": "1.safetensors", "tensors": {"A": )" + tensor + "}}");
    return test::thrown_by([&] { LoadPlan(options_of(std::move(load), map)).views("A"); }).message;
  };
  HG_EXPECT_EQ(failure(R"("a")"), "");
  HG_EXPECT_EQ(failure(R"({"rows": [1, 2], "of": "a"})"), "");
  for (const char* wrong : {"1", "{}", R"({"pack": []})", R"({"stack": "a"})",
                            R"({"transpose": "a"})", R"({"stack": [{"stack": ["a", "a"]}]})",
                            R"({"rows": [1, 3], "of": "a"})", R"({"rows": [2, 1], "of": "a"})"}) {
    HG_EXPECT_CONTAINS(failure(wrong), "map.json: A: ");
  }
  HG_EXPECT_CONTAINS(failure(R"("b")"), "has no tensor b; it has a");
  HG_EXPECT_CONTAINS(failure(R"("a")", {{"A", "x"}}), "both load it");
  const auto read = [&] { LoadPlan(options_of({}, folder.write("map.json", "{"))); };
  HG_EXPECT_CONTAINS(test::thrown_by(read).message, "map.json: no JSON");
}

std::string testdata(const std::string& path) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../../testdata/checkpoints";
  return (root / path).string();
}

/// The bits of an element of a checkpoint's matrix or vector.
uint32_t element(const std::string& model, const std::string& name, int64_t row,
                 int64_t column = 0) {
  Checkpoint checkpoint(testdata("files/" + model + "/model.safetensors.index.json"));
  const StoredView view = checkpoint.find(name);
  const int64_t at = row * view.strides[0] + (view.strides.size() > 1 ? column : 0);
  const size_t bytes = element_bytes(view.dtype);
  uint32_t bits = 0;
  std::memcpy(&bits, view.bases[0] + static_cast<size_t>(at) * bytes, bytes);
  return bits;
}

/// The bits of the elements that rank 1 of 2 loads, in the type of the checkpoint (BF16 or F32).
std::vector<uint32_t> loaded(const std::string& map, TensorDesc desc) {
  LoadPlan plan(options_of({}, testdata(map)));
  const std::vector<StoredView> views = plan.views(desc.name);
  if (views[0].dtype == "BF16") desc.dtype = DType::kBf16;
  const std::vector<char> part = read_views(views, desc, false);
  const size_t bytes = size_of(desc.dtype);
  std::vector<uint32_t> bits(part.size() / bytes);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &part[i * bytes], bytes);
  return bits;
}

const Axis kRank1{2, 2, 1};

// The shapes of testdata/layers: 16 channels, 4 query heads of size 4, 2 heads of keys and values
// (4 in GPT-2), 24 or 64 channels in the MLP.
HG_TEST(checkpoints_of_transformers_load_into_layers) {
  for (const auto& [model, map, mlp] :
       {std::tuple("llama", "llama.json", "llama.json"),
        std::tuple("qwen3", "qwen3_attention.json", "qwen3_mlp.json")}) {
    const std::string layer = "model.layers.0.";
    const auto qkv = loaded(map, tensor("Wqkv", {kRank1, {16, 1, 0}, {16, 1, 0}}));
    HG_EXPECT_EQ(qkv[1], element(model, layer + "self_attn.q_proj.weight", 8, 1));
    HG_EXPECT_EQ(qkv[8 * 16 + 2], element(model, layer + "self_attn.k_proj.weight", 4, 2));
    HG_EXPECT_EQ(qkv[15 * 16 + 3], element(model, layer + "self_attn.v_proj.weight", 7, 3));
    const auto wo = loaded(map, tensor("Wo", {kRank1, {16, 1, 0}, {8, 1, 0}}));
    HG_EXPECT_EQ(wo[5 * 8 + 2], element(model, layer + "self_attn.o_proj.weight", 5, 8 + 2));
    const auto wg = loaded(mlp, tensor("Wg", {kRank1, {1, 1, 0}, {12, 1, 0}, {16, 1, 0}}));
    HG_EXPECT_EQ(wg[16], element(model, layer + "mlp.gate_proj.weight", 13, 0));
    const auto w2 = loaded(mlp, tensor("W2", {kRank1, {16, 1, 0}, {12, 1, 0}}));
    HG_EXPECT_EQ(w2[12], element(model, layer + "mlp.down_proj.weight", 1, 12));
    const auto gamma = loaded(map, tensor("gamma1", {{16, 1, 0}}));
    HG_EXPECT_EQ(gamma[3], element(model, layer + "input_layernorm.weight", 3));
  }
}

HG_TEST(a_checkpoint_of_gpt2_loads_transposed) {
  const std::string attention = "transformer.h.0.attn.";
  const auto qkv = loaded("gpt2.json", tensor("Wqkv", {kRank1, {24, 1, 0}, {16, 1, 0}}));
  HG_EXPECT_EQ(qkv[5], element("gpt2", attention + "c_attn.weight", 5, 8));
  HG_EXPECT_EQ(qkv[8 * 16 + 5], element("gpt2", attention + "c_attn.weight", 5, 16 + 8));
  HG_EXPECT_EQ(qkv[23 * 16 + 5], element("gpt2", attention + "c_attn.weight", 5, 47));
  const auto bias = loaded("gpt2.json", tensor("bqkv", {kRank1, {24, 1, 0}}));
  HG_EXPECT_EQ(bias[16], element("gpt2", attention + "c_attn.bias", 32 + 8));
  const auto wo = loaded("gpt2.json", tensor("Wo", {kRank1, {16, 1, 0}, {8, 1, 0}}));
  HG_EXPECT_EQ(wo[3 * 8 + 1], element("gpt2", attention + "c_proj.weight", 8 + 1, 3));
  const auto w1 = loaded("gpt2.json", tensor("W1", {kRank1, {32, 1, 0}, {16, 1, 0}}));
  HG_EXPECT_EQ(w1[16 + 2], element("gpt2", "transformer.h.0.mlp.c_fc.weight", 2, 33));
}

HG_TEST(experts_of_mixtral_are_stacked) {
  const std::string expert = "model.layers.0.block_sparse_moe.experts.1.";
  const auto w1 = loaded("mixtral.json", tensor("W1", {kRank1, {16, 1, 0}, {24, 1, 0}}));
  HG_EXPECT_EQ(w1[2 * 24 + 7], element("mixtral", expert + "w1.weight", 7, 2));
  const auto w2 = loaded("mixtral.json", tensor("W2", {kRank1, {24, 1, 0}, {16, 1, 0}}));
  HG_EXPECT_EQ(w2[3 * 16 + 9], element("mixtral", expert + "w2.weight", 9, 3));
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
