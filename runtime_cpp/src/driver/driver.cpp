#include "driver/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "bootstrap/identity.hpp"
#include "bootstrap/rendezvous.hpp"
#include "context/device.hpp"
#include "driver/checkpoint.hpp"
#include "driver/host_shards.hpp"
#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"
#include "hirgen/graph.hpp"
#include "ipc/transport.hpp"

namespace hirgen {

namespace {

constexpr const char* kDriver = "driver";

// The offset of tensors in checked calls from a multiple of 256 bytes, to check the smallest
// alignment that callers may use. Timed calls use cudaMalloc's alignment.
constexpr size_t kLeastAligned = HIRGEN_ALIGNMENT;

size_t index_of(const std::vector<TensorDesc>& descs, const std::string& name, const char* option) {
  std::string names;
  for (size_t i = 0; i < descs.size(); ++i) {
    if (descs[i].name == name) return i;
    names += (names.empty() ? "" : ", ") + descs[i].name;
  }
  throw Error(Code::kUsage, std::string(option) + " " + name +
                                ": the program has no such tensor; it has " + names);
}

}  // namespace

void check_tensor_names(const std::vector<TensorDesc>& descs, const Options& options) {
  for (const auto& [name, path] : options.dump) index_of(descs, name, "--dump");
  for (const std::string& name : LoadPlan(options).names()) {
    if (descs[index_of(descs, name, "--load")].output) {
      throw Error(Code::kUsage, "--load " + name + ": it is an output");
    }
  }
}

Driver::Driver(Context& context, const ProgramTable& table, const Options& options)
    : context_(context),
      table_(table),
      options_(options),
      descs_(table.tensors(context.rank())),
      plans_(context, options, table.info.name) {
  report_.info = &table.info;
  report_.options = options;
  for (const TensorDesc& desc : descs_) {
    exact_ = exact_ && !desc.rounded;
  }
  report_.dtype = descs_.front().dtype;
  HG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), kDriver);
  HG_CHECK(cudaEventCreate(&begin_), kDriver);
  HG_CHECK(cudaEventCreate(&end_), kDriver);
  allocate_tensors();
  load_files();
  calls_per_graph = options.calls_per_graph;
  capture_first_calls = true;  // checked calls run as graphs, as timed ones do
  memory_before_ = context.memory();
  MadeProgram made = make_program(context, table, options.transport);
  program_ = std::move(made.program);
  report_.transport = made.transport;
  report_.attentions = context.attentions().report();
  describe_machine();
}

Driver::~Driver() {
  context_.finish();
  program_.reset();
  reference_.reset();
  static_cast<void>(cudaEventDestroy(begin_));
  static_cast<void>(cudaEventDestroy(end_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Driver::say(const std::string& text) const {
  if (context_.rank() == 0) print(text);
}

Code Driver::run() {
  say(header(report_));
  choose_algorithms();
  const bool is_checked = options_.check || !options_.dump.empty();
  if (is_checked) issue_checked_calls();
  // Timed calls use tensors at other addresses, and may allocate more flags, which the report must
  // not count.
  report_.memory = context_.memory().since(memory_before_);
  if (options_.check) report_.wrong = count_all_wrong();
  reference_.reset();  // frees whole tensors: other processes on this GPU may need the memory
  for (const auto& [name, path] : options_.dump) dump_tensor(name, path);
  place_tensors(0);
  report_.repeat_seconds = time_calls();
  gather_times();
  if (!is_checked) report_.memory = context_.memory().since(memory_before_);
  if (context_.rank() == 0) {
    say(columns(report_));
    const std::string json = to_json(report_);
    if (!options_.json.empty()) {
      write_file(options_.json, {{json.data(), json.size()}}, options_.timeout);
    }
  }
  if (!options_.trace.empty()) trace_calls();
  // No rank ends while others still work, so that every rank learns of a failure.
  context_.rendezvous().barrier("end of the program");
  return report_.wrong.value_or(0) == 0 ? Code::kOk : Code::kWrong;
}

void Driver::allocate_tensors() {
  for (const TensorDesc& desc : descs_) {
    const size_t bytes = desc.local_bytes();
    const size_t wanted = bytes == 0 ? 0 : bytes + kLeastAligned;
    buffers_.push_back(
        context_.allocate<char>(static_cast<int64_t>(wanted), desc.where + " " + desc.name));
  }
  place_tensors(0);
  if (!options_.check) return;
  for (int64_t i = 0; i < options_.checks; ++i) {
    std::vector<void*>& kept = kept_.emplace_back(descs_.size(), nullptr);
    for (size_t t = 0; t < descs_.size(); ++t) {
      if (descs_[t].output) {
        kept[t] = context_.allocate(descs_[t].local_bytes(), "a checked output");
      } else if (descs_[t].saved) {
        saved_[t].push_back(context_.allocate(descs_[t].local_bytes(), "a saved input"));
      }
    }
  }
  const bool bounds = !exact_ || !LoadPlan(options_).names().empty();
  reference_ = std::make_unique<DeviceReference>(stream_, bounds ? table_.info.mesh_size : 0);
}

void Driver::load_files() {
  LoadPlan plan(options_);
  for (const std::string& name : plan.names()) {
    const size_t index = index_of(descs_, name, "--load");
    const TensorDesc& desc = descs_[index];
    const std::vector<StoredView> views = plan.views(name);
    loaded_[index] = read_views(views, desc, false);
    if (!reference_) continue;  // only the check needs the whole tensor
    const std::vector<char> whole = read_views(views, desc, true);
    reference_->upload(desc, whole.data());
  }
  place_tensors(0);
}

void Driver::place_tensors(size_t offset) {
  tensors_.assign(buffers_.begin(), buffers_.end());
  for (void*& tensor : tensors_) {
    if (tensor != nullptr) tensor = static_cast<char*>(tensor) + offset;
  }
  for (const auto& [index, shard] : loaded_) {
    HG_CHECK(cudaMemcpyAsync(tensors_[index], shard.data(), shard.size(), cudaMemcpyHostToDevice,
                             stream_),
             kDriver);
  }
}

// The host does not wait between the calls. So the check finds a call that starts too early, and
// reads or overwrites data of the previous call.
void Driver::issue_checked_calls() {
  place_tensors(kLeastAligned);
  keep_saved_inputs();
  for (int64_t i = 0; i < options_.checks; ++i) {
    fill_inputs(i);
    for (size_t t = 0; t < descs_.size(); ++t) {
      if (descs_[t].output) poison(tensors_[t], descs_[t].local_bytes(), stream_);
    }
    call();
    for (size_t t = 0; t < descs_.size() && options_.check; ++t) {
      if (!descs_[t].output) continue;
      HG_CHECK(cudaMemcpyAsync(kept_[static_cast<size_t>(i)][t], tensors_[t],
                               descs_[t].local_bytes(), cudaMemcpyDeviceToDevice, stream_),
               kDriver);
    }
  }
  context_.synchronize(stream_);
}

int64_t Driver::count_all_wrong() {
  int64_t wrong = 0;
  for (int64_t i = 0; i < options_.checks; ++i) wrong += count_wrong_of_call(i);
  report_.not_finite = context_.rendezvous().sum(report_.not_finite, "sum of special elements");
  report_.checked = context_.rendezvous().sum(report_.checked, "sum of checked elements");
  report_.unsure = context_.rendezvous().sum(report_.unsure, "sum of unsure elements");
  return context_.rendezvous().sum(wrong, "sum of wrong elements");
}

void Driver::note_tolerance(const TensorDesc& output) {
  const float* bounds = reference_->bounds(output.name, output.dtype);
  if (bounds == nullptr) return;
  double sums[2] = {};  // sums of squares of elements and of bounds, where both are finite
  std::vector<float> numbers(2 * static_cast<size_t>(output.elements()));
  const size_t half = numbers.size() / 2, bytes = half * sizeof(float);
  const float* const parts[2] = {reference_->data(output.name), bounds};
  for (size_t i = 0; i < 2; ++i) {
    HG_CHECK(cudaMemcpyAsync(numbers.data() + i * half, parts[i], bytes, cudaMemcpyDeviceToHost,
                             stream_),
             kDriver);
  }
  context_.synchronize(stream_);
  for (size_t i = 0; i < half; ++i) {
    const double element = numbers[i], bound = numbers[half + i];
    if (!std::isfinite(element) || !std::isfinite(bound)) continue;
    sums[0] += element * element;
    sums[1] += bound * bound;
  }
  if (sums[0] > 0) report_.tolerance = std::max(report_.tolerance, std::sqrt(sums[1] / sums[0]));
}

int64_t Driver::count_wrong_of_call(int64_t call) {
  evaluate_reference(call);
  int64_t total = 0;
  for (size_t t = 0; t < descs_.size(); ++t) {
    if (!descs_[t].output) continue;
    note_tolerance(descs_[t]);
    const Wrong wrong = count_wrong(kept_[static_cast<size_t>(call)][t], descs_[t],
                                    reference_->data(descs_[t].name),
                                    reference_->bounds(descs_[t].name, descs_[t].dtype), stream_);
    report_.not_finite += wrong.not_finite;
    report_.checked += descs_[t].local_elements();
    report_.unsure += wrong.unsure;
    if (wrong.count > 0) {
      std::fprintf(stderr,
                   "hirgen: rank %d, checked call %ld: %ld of %ld elements of %s are "
                   "wrong; the first is element %ld: %g, expected %g\n",
                   context_.rank(), static_cast<long>(call + 1), static_cast<long>(wrong.count),
                   static_cast<long>(descs_[t].local_elements()), descs_[t].name.c_str(),
                   static_cast<long>(wrong.first_index), static_cast<double>(wrong.got),
                   static_cast<double>(wrong.expected));
    }
    total += wrong.count;
  }
  return total;
}

void Driver::dump_tensor(const std::string& name, const std::string& path) {
  const size_t index = index_of(descs_, name, "--dump");
  std::string local(descs_[index].local_bytes(), '\0');
  HG_CHECK(
      cudaMemcpyAsync(local.data(), tensors_[index], local.size(), cudaMemcpyDeviceToHost, stream_),
      kDriver);
  context_.synchronize(stream_);
  const std::vector<std::string> shards = context_.rendezvous().gather(local, "dump");
  if (context_.rank() != 0) return;
  std::vector<char> whole(static_cast<size_t>(descs_[index].elements()) *
                          size_of(descs_[index].dtype));
  for (int rank = 0; rank < context_.world(); ++rank) {
    put_shard(&whole, table_.tensors(rank)[index], shards[static_cast<size_t>(rank)].data());
  }
  write_safetensors(path, descs_[index], whole, options_.timeout);
}

void Driver::describe_machine() {
  const ContextOptions& own = context_.options();
  HG_CHECK(cudaRuntimeGetVersion(&report_.versions.runtime), kDriver);
  HG_CHECK(cudaDriverGetVersion(&report_.versions.driver), kDriver);
  HG_CHECK(ncclGetVersion(&report_.versions.nccl), kDriver);
  const Identity self = identify(own, report_.versions.nccl);
  Writer writer;
  writer.put(self.pid).put(own.device).put(self.host);
  writer.put(open_device(own.device)).put(device_name(own.device));
  for (std::string& part : context_.rendezvous().allgather(writer.bytes(), "devices")) {
    Reader reader(std::move(part));
    RankInfo& rank = report_.ranks.emplace_back();
    rank.rank = static_cast<int>(report_.ranks.size()) - 1;
    rank.pid = reader.get<int>();
    rank.device = reader.get<int>();
    for (std::string* text : {&rank.host, &rank.bus_id, &rank.device_name}) {
      *text = reader.get_text();
    }
  }
}

}  // namespace hirgen
