// cuBLASMp's overlapped GEMMs as peers of bench.py, with one process for each GPU. All ranks read
// the same commands from standard input, and rank 0 answers in lines that begin with "PEER".
// cublasmp.py builds and starts it.
//
//   load OPERATION M N K             makes the tensors; answers with the names of the peers.
//   time PEER WARMUP ITERS REPEATS   answers with the microseconds of a call on the slowest rank,
//                                    one number for each repeat.
//
// M, N and K are the extents of one GPU's GEMM, as in cells.py. cuBLASMp is column-major: its A is
// the transposed weights, its B the rows, and its D the transposed result. Tensors that ranks
// exchange are in NVSHMEM's memory.
#include <cublasmp.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nvshmem.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr size_t kElement = 2;  // bytes of bf16
constexpr size_t kPattern = 1 << 20;

// Throws if a call of one of the libraries failed.
template <typename Status>
void check(Status status, const char* call) {
  if (static_cast<int>(status) != 0)
    throw std::runtime_error("error " + std::to_string(static_cast<int>(status)) + " of " + call);
}
#define CHECK(call) check(call, #call)

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) throw std::runtime_error(std::string(variable) + " is not set");
  return std::atoi(text);
}

struct Algorithm {
  const char* name;
  cublasMpMatmulAlgoType_t type;
};
// The algorithms without NVLink multicast, which stays off.
constexpr Algorithm kAlgorithms[] = {{"cublasmp-default", CUBLASMP_MATMUL_ALGO_TYPE_DEFAULT},
                                     {"cublasmp-split-p2p", CUBLASMP_MATMUL_ALGO_TYPE_SPLIT_P2P},
                                     {"cublasmp-atomic-p2p", CUBLASMP_MATMUL_ALGO_TYPE_ATOMIC_P2P},
                                     {"cublasmp-no-overlap", CUBLASMP_MATMUL_ALGO_TYPE_NO_OVERLAP}};

// Fills device memory with random bf16 numbers between -1 and 1, as a repeated pattern.
void fill(void* memory, size_t elements, int seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> pattern(kPattern);
  for (uint16_t& value : pattern) {
    const float number = std::uniform_real_distribution<float>(-1, 1)(random);
    uint32_t bits = 0;
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof bits,
                reinterpret_cast<char*>(&bits));
    value = static_cast<uint16_t>(bits >> 16);
  }
  for (size_t begin = 0; begin < elements; begin += kPattern) {
    const size_t count = std::min(kPattern, elements - begin);
    CHECK(cudaMemcpy(static_cast<char*>(memory) + begin * kElement, pattern.data(),
                     count * kElement, cudaMemcpyHostToDevice));
  }
}

// own_memory is memory of this rank alone, shared_memory is NVSHMEM memory that other ranks can
// access.
std::shared_ptr<void> own_memory(size_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  return {memory, [](void* p) { cudaFree(p); }};
}
std::shared_ptr<void> shared_memory(size_t bytes) {
  void* memory = nvshmem_malloc(std::max<size_t>(bytes, 1));
  if (memory == nullptr)
    throw std::runtime_error("nvshmem_malloc of " + std::to_string(bytes) + " bytes failed");
  return {memory, [](void* p) { nvshmem_free(p); }};
}

// A rank's communicator, and its handle and grids of cuBLASMp. Times calls on the slowest rank.
class Ranks {
 public:
  explicit Ranks(const std::string& id_file)
      : rank(number_of("RANK")), world(number_of("WORLD_SIZE")) {
    CHECK(cudaSetDevice(number_of("LOCAL_RANK")));
    CHECK(cudaStreamCreate(&stream));
    CHECK(ncclCommInitRank(&comm_, world, id(id_file), rank));
    CHECK(cublasMpCreate(&handle, stream));
    CHECK(cublasMpGridCreate(world, 1, CUBLASMP_GRID_LAYOUT_COL_MAJOR, comm_, &by_rows));
    CHECK(cublasMpGridCreate(1, world, CUBLASMP_GRID_LAYOUT_ROW_MAJOR, comm_, &by_columns));
    CHECK(cudaMalloc(&slowest_, sizeof *slowest_));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }

  // Returns the microseconds of a call on the slowest rank, the mean of `calls` calls.
  float time(const std::function<void()>& call, int calls) {
    over_ranks(0);  // a barrier
    CHECK(cudaEventRecord(begin_, stream));
    for (int i = 0; i < calls; ++i) call();
    CHECK(cudaEventRecord(end_, stream));
    CHECK(cudaStreamSynchronize(stream));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return over_ranks(ms) * 1000 / static_cast<float>(calls);
  }

  const int rank, world;
  cudaStream_t stream = nullptr;
  cublasMpHandle_t handle = nullptr;
  cublasMpGrid_t by_rows = nullptr, by_columns = nullptr;

 private:
  // Returns NCCL's unique ID. Rank 0 writes the ID to a file, renamed into place so that no rank
  // reads a part.
  ncclUniqueId id(const std::string& file) const {
    ncclUniqueId made;
    if (rank == 0) {
      CHECK(ncclGetUniqueId(&made));
      FILE* out = std::fopen((file + ".new").c_str(), "wb");
      if (out == nullptr || std::fwrite(&made, sizeof made, 1, out) != 1 || std::fclose(out) != 0)
        throw std::runtime_error("cannot write " + file);
      if (std::rename((file + ".new").c_str(), file.c_str()) != 0)
        throw std::runtime_error("cannot write " + file);
      return made;
    }
    FILE* in = nullptr;
    while ((in = std::fopen(file.c_str(), "rb")) == nullptr) usleep(10000);
    if (std::fread(&made, sizeof made, 1, in) != 1) throw std::runtime_error("cannot read " + file);
    std::fclose(in);
    return made;
  }

  float over_ranks(float mine) {
    CHECK(cudaMemcpy(slowest_, &mine, sizeof mine, cudaMemcpyHostToDevice));
    CHECK(ncclAllReduce(slowest_, slowest_, 1, ncclFloat32, ncclMax, comm_, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&mine, slowest_, sizeof mine, cudaMemcpyDeviceToHost));
    return mine;
  }

  ncclComm_t comm_ = nullptr;
  float* slowest_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// The tensors of an operation at a shape, and its timing with each algorithm.
class Problem {
 public:
  Problem(Ranks* ranks, const std::string& operation, int64_t m, int64_t n, int64_t k)
      : ranks_(ranks) {
    const int64_t world = ranks->world;
    const bool gathers = operation == "ag_matmul";
    reduces_all_ = operation == "matmul_ar";
    if (!gathers && !reduces_all_ && operation != "matmul_rs")
      throw std::runtime_error("no operation " + operation);
    const int64_t own_rows = gathers ? m / world : m;
    rows_ = gathers ? n * world : n, columns_ = m, inner_ = gathers ? k : k * world;
    const int64_t block =
        reduces_all_ ? m : m / world;  // the operation's rows in the block of one rank
    weights_ = own_memory(kElement * k * n);
    tokens_ = shared_memory(kElement * k * own_rows);
    result_ = shared_memory(kElement * n * (operation == "matmul_rs" ? m / world : m));
    fill(weights_.get(), k * n, 1 + ranks->rank);
    fill(tokens_.get(), k * own_rows, 1001 + ranks->rank);
    const auto outer = gathers ? ranks->by_columns : ranks->by_rows;
    const auto inner = gathers ? ranks->by_rows : ranks->by_columns;
    a_ = descriptor(inner_, rows_, k, n, outer);
    b_ = descriptor(inner_, columns_, k, block, outer);
    d_ = descriptor(rows_, reduces_all_ ? columns_ * world : columns_, n, block, inner);
  }
  ~Problem() {
    for (const auto descriptor : {a_, b_, d_}) cublasMpMatrixDescriptorDestroy(descriptor);
  }

  std::vector<float> time(cublasMpMatmulAlgoType_t algorithm, int warmup, int iters, int repeats) {
    cublasMpMatmulDescriptor_t descriptor = nullptr;
    CHECK(cublasMpMatmulDescriptorCreate(&descriptor, CUBLAS_COMPUTE_32F));
    const std::shared_ptr<void> destroyed(descriptor, [](void* p) {
      cublasMpMatmulDescriptorDestroy(static_cast<cublasMpMatmulDescriptor_t>(p));
    });
    set(descriptor, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSA, CUBLAS_OP_T);
    set(descriptor, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSB, CUBLAS_OP_N);
    set(descriptor, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_ALGO_TYPE, algorithm);
    if (reduces_all_)
      set(descriptor, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_EPILOGUE,
          CUBLASMP_MATMUL_EPILOGUE_ALLREDUCE);
    const float one = 1, zero = 0;
    size_t on_device = 0, on_host = 0;
    CHECK(cublasMpMatmul_bufferSize(ranks_->handle, descriptor, rows_, columns_, inner_, &one,
                                    weights_.get(), 1, 1, a_, tokens_.get(), 1, 1, b_, &zero,
                                    nullptr, 1, 1, nullptr, result_.get(), 1, 1, d_, &on_device,
                                    &on_host));
    const std::shared_ptr<void> workspace = shared_memory(on_device);
    std::vector<char> host(on_host);
    const auto call = [&] {
      CHECK(cublasMpMatmul(ranks_->handle, descriptor, rows_, columns_, inner_, &one,
                           weights_.get(), 1, 1, a_, tokens_.get(), 1, 1, b_, &zero, nullptr, 1, 1,
                           nullptr, result_.get(), 1, 1, d_, workspace.get(), on_device,
                           host.data(), on_host));
    };
    for (int i = 0; i < warmup; ++i) call();
    std::vector<float> times;
    for (int i = 0; i < repeats; ++i) times.push_back(ranks_->time(call, iters));
    return times;
  }

 private:
  // The descriptor of a matrix whose blocks are distributed over the ranks of the grid.
  static cublasMpMatrixDescriptor_t descriptor(int64_t rows, int64_t columns, int64_t block_rows,
                                               int64_t block_columns, cublasMpGrid_t grid) {
    cublasMpMatrixDescriptor_t made = nullptr;
    CHECK(cublasMpMatrixDescriptorCreate(rows, columns, block_rows, block_columns, 0, 0, block_rows,
                                         CUDA_R_16BF, grid, &made));
    return made;
  }
  template <typename Value>
  static void set(cublasMpMatmulDescriptor_t descriptor,
                  cublasMpMatmulDescriptorAttribute_t attribute, Value value) {
    CHECK(cublasMpMatmulDescriptorAttributeSet(descriptor, attribute, &value, sizeof value));
  }

  Ranks* ranks_;
  bool reduces_all_ = false;
  int64_t rows_ = 0, columns_ = 0, inner_ = 0;  // extents of cuBLASMp's global GEMM
  std::shared_ptr<void> weights_, tokens_, result_;
  cublasMpMatrixDescriptor_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
};

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}  // the text must contain no quotes

// The answer to a command, as JSON. If the library refuses a call, the answer has the reason.
std::string answer(const std::string& line, Ranks* ranks, std::unique_ptr<Problem>* problem) try {
  std::istringstream words(line);
  std::string verb, name;
  words >> verb >> name;
  std::string list;
  if (verb == "load") {
    int64_t m = 0, n = 0, k = 0;
    words >> m >> n >> k;
    problem->reset();
    *problem = std::make_unique<Problem>(ranks, name, m, n, k);
    for (const Algorithm& algorithm : kAlgorithms)
      list += (list.empty() ? "" : ", ") + quoted(algorithm.name);
    return "{\"peers\": [" + list + "]}";
  }
  int warmup = 0, iters = 0, repeats = 0;
  words >> warmup >> iters >> repeats;
  const auto* found = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                                   [&](const Algorithm& one) { return one.name == name; });
  if (found == std::end(kAlgorithms) || *problem == nullptr)
    throw std::runtime_error("no peer " + name);
  for (const float us : (*problem)->time(found->type, warmup, iters, repeats))
    list += (list.empty() ? "" : ", ") + std::to_string(us);
  return "{\"us\": [" + list + "]}";
} catch (const std::exception& error) {
  return "{\"refused\": " + quoted(std::string(error.what()).substr(0, 100)) + ", \"peers\": []}";
}

}  // namespace

int main(int, char** arguments) try {
  Ranks ranks(arguments[1]);
  int version = 0;
  CHECK(cublasMpGetVersion(&version));
  if (ranks.rank == 0) std::cout << "PEER {\"cublasmp\": " << version << "}" << std::endl;
  std::unique_ptr<Problem> problem;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string text = answer(line, &ranks, &problem);
    if (ranks.rank == 0) std::cout << "PEER " << text << std::endl;
  }
  std::_Exit(0);  // skips the libraries' shutdown, which deadlocks
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
