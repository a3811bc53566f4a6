#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "hirgen/reference.hpp"
#include "test_ranks.hpp"

namespace hirgen::test {

namespace {

constexpr int64_t kSlices = 2;
constexpr int64_t kColumns = 96;

/// Whether SAMPLE_FLAW names this rank and flaw ("1:create").
bool flawed(int rank, const char* flaw) {
  const char* text = std::getenv("SAMPLE_FLAW");
  return text != nullptr && text == std::to_string(rank) + ":" + flaw;
}

/// C = allgather(A), a slice at a time on two compute streams, as emit would write it.
class Sample final : public Program {
 public:
  explicit Sample(Context& context)
      : context_(context),
        team_(context.team({0, 1, 2}, "sample.yaml:1:1 mesh")),
        workers_{context.worker(0), context.worker(1)},
        ready_(context.events("ready", "sample.yaml:2:2 Synchronize", 1)),
        gathered_(context.events("gathered", "sample.yaml:2:2 gather", kSlices)),
        done_(context.events("done", "sample.yaml:2:2 Synchronize", kSlices)) {
    if (flawed(context.rank(), "create")) throw Error(Code::kEnvironment, "no room for it");
  }

  void run(cudaStream_t caller, const std::vector<void*>& tensors) override {
    const auto* a = static_cast<const float*>(tensors[0]);
    auto* c = static_cast<float*>(tensors[1]);
    if (++calls_ == 2 && flawed(context_.rank(), "run")) throw Error(Code::kDevice, "it broke");
    if (flawed(context_.rank(), "places")) say_places(tensors);
    HG_CHECK(cudaEventRecord(ready_[0], caller), "sample.yaml:2:2 Synchronize");
    for (int64_t s = 0; s < kSlices; ++s) {
      cudaStream_t stream = workers_[static_cast<size_t>(s)];
      HG_CHECK(cudaStreamWaitEvent(stream, ready_[0], 0), "sample.yaml:2:2 Synchronize");
      HG_CHECK(cudaStreamWaitEvent(team_.stream, ready_[0], 0), "sample.yaml:2:2 gather");
      HG_CHECK(ncclAllGather(a + s * kColumns, c + s * kColumns * kWorld, kColumns, ncclFloat32,
                             team_.comm, team_.stream),
               "sample.yaml:2:2 gather");
      HG_CHECK(cudaEventRecord(gathered_[s], team_.stream), "sample.yaml:2:2 gather");
      HG_CHECK(cudaStreamWaitEvent(stream, gathered_[s], 0), "sample.yaml:2:2 Wait");
      HG_CHECK(cudaEventRecord(done_[s], stream), "sample.yaml:2:2 Synchronize");
      HG_CHECK(cudaStreamWaitEvent(caller, done_[s], 0), "sample.yaml:2:2 Synchronize");
    }
    if (flawed(context_.rank(), "value")) HG_CHECK(cudaMemsetAsync(c, 0x41, 8, caller), "flaw");
    context_.call_issued(caller);
  }

 private:
  void say_places(const std::vector<void*>& tensors) const {
    const auto rest = [&](size_t i) {
      return static_cast<int>(reinterpret_cast<uintptr_t>(tensors[i]) % 256);
    };
    std::fprintf(stderr, "call %d: A at %d, C at %d\n", calls_, rest(0), rest(1));
  }

  Context& context_;
  Team& team_;
  std::array<cudaStream_t, 2> workers_;
  Events ready_, gathered_, done_;
  int calls_ = 0;
};

std::vector<TensorDesc> sample_tensors(int rank) {
  TensorDesc a;
  a.name = "A";
  a.axes = {{kSlices, 1, 0}, {kWorld, kWorld, rank}, {kColumns, 1, 0}};
  a.where = "sample.yaml:1:1";
  TensorDesc c = a;
  c.name = "C";
  c.axes[1] = {kWorld, 1, 0};
  c.output = true;
  return {a, c};
}

}  // namespace

ProgramTable sample_table() {
  ProgramTable table;
  table.info.name = "sample";
  table.info.spec = "sample.yaml";
  table.info.digest = std::getenv("SAMPLE_DIGEST") == nullptr ? "d0" : std::getenv("SAMPLE_DIGEST");
  table.info.mesh_size = kWorld;
  table.info.bytes = kSlices * kWorld * kColumns * 4;
  table.info.largest = "allgather";
  table.tensors = sample_tensors;
  table.create = [](Context& context) -> std::unique_ptr<Program> {
    return std::make_unique<Sample>(context);
  };
  table.reference = [](Reference& model) { model.set("C", "A"); };
  return table;
}

}  // namespace hirgen::test
