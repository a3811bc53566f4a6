#include "hirgen/abi.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/handle.hpp"
#include "base/current_error.hpp"
#include "base/text.hpp"
#include "bootstrap/launch_env.hpp"
#include "bootstrap/place.hpp"
#include "bootstrap/rendezvous.hpp"
#include "gemm/plan_book.hpp"
#include "hirgen/error.hpp"
#include "ipc/transport.hpp"
#include "watchdog/watchdog.hpp"

namespace hirgen {

namespace {

constexpr double kDefaultTimeout = 60;

// The last error of this thread that belongs to no known handle, or that a destroy returned.
thread_local std::string g_last_error;
// The text that abi_last_error returned last for a known handle in this thread: a copy of the
// handle's error, so that a failure in another thread does not change it.
thread_local std::string g_shown_error;

// Keeps the message for abi_last_error and returns the code.
int report(const hirgen_handle* handle, const Error& error) {
  hirgen_handle* const known = known_handle(handle);
  if (known == nullptr) {
    g_last_error = error.what();
  } else {
    const std::lock_guard lock(known->error_mutex);
    known->last_error = error.what();
  }
  return static_cast<int>(error.code());
}

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::kUsage, what); }

double timeout_of(const hirgen_options* options) {
  if (options == nullptr || options->timeout_seconds == 0) return kDefaultTimeout;
  if (!(options->timeout_seconds >= 1)) refuse("timeout_seconds must be 0 or at least 1");
  return options->timeout_seconds;
}

ContextOptions launched(const ProgramInfo& info, const hirgen_options* options) {
  const double timeout = timeout_of(options);
  if (options == nullptr || options->world == 0) return options_from_environment(info, timeout);
  if (options->world < 0 || options->rank < 0 || options->rank >= options->world) {
    refuse(format("rank %d of world %d is out of range", options->rank, options->world));
  }
  Launch launch;
  launch.family = "hirgen_options";
  launch.rank = options->rank;
  launch.world = options->world;
  const std::string address = options->address == nullptr ? "" : options->address;
  const auto place = parse_place(address);
  if (!place || (place->port != 0 && options->port != 0 && place->port != options->port)) {
    refuse(format("address %s with port %d: write a host and its port, as in node0 or ::1 and 4000",
                  address.c_str(), options->port));
  }
  launch.address = place->host;
  launch.port = options->port == 0 ? place->port : options->port;
  ContextOptions joining = context_options(launch, info, timeout);
  joining.device = options->device;
  return joining;
}

ContextOptions joining(const ProgramInfo& info, const hirgen_options* options) {
  if (options == nullptr) return launched(info, options);
  if (options->version != HIRGEN_ABI_VERSION) {
    refuse(format("options.version is %u and the library's HIRGEN_ABI_VERSION is %d",
                  options->version, HIRGEN_ABI_VERSION));
  }
  if (options->on_failure != HIRGEN_FAILURE_EXITS &&
      options->on_failure != HIRGEN_FAILURE_RETURNS) {
    refuse(format("on_failure must be HIRGEN_FAILURE_EXITS or HIRGEN_FAILURE_RETURNS, not %d",
                  options->on_failure));
  }
  ContextOptions joining = launched(info, options);
  joining.survives = options->on_failure == HIRGEN_FAILURE_RETURNS;
  if (options->failed != nullptr) {
    joining.on_failure = [call = options->failed, data = options->failed_data](
                             Code code, const std::string& report) {
      call(data, static_cast<int>(code), report.c_str());
    };
  }
  return joining;
}

// Builds the program. If that fails, informs the other ranks, ends the context and throws.
void build(const ProgramTable& table, const char* plans, Embedded* embedded) {
  Context& context = *embedded->context;
  try {
    const Watchdog::Inside inside(context.watchdog());
    if (plans != nullptr) context.plans().load(plans, scopes_of(context.options().device));
    embedded->capturable = table.info.graph;
    embedded->tensors = table.tensors(context.rank());
    MadeProgram made = make_program(context, table, "");
    embedded->program = std::move(made.program);
    embedded->transport = made.transport;
    if (context.world() > 1 && made.transport.starts_with("ipc")) embedded->staging.emplace();
    // With this barrier, create fails on every rank if it fails on one.
    context.rendezvous().barrier("create");
    for (const std::string& note : context.plans().notes()) {
      std::fprintf(stderr, "hirgen: %s (rank %d)\n", note.c_str(), context.rank());
    }
  } catch (...) {
    const Error error = current_error();
    context.fail(error);
    throw embedded->end().value_or(error);
  }
}

// Describes the memory at a pointer if CUDA says that it is host memory or does not know it. Null
// for device memory and managed memory.
const char* host_memory(const void* pointer, const char* where) {
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, pointer);
  if (status != cudaErrorInvalidValue) {
    HG_CHECK(status, where);
    if (attributes.type == cudaMemoryTypeHost) return "page-locked memory of the host";
    if (attributes.type != cudaMemoryTypeUnregistered) return nullptr;
  } else {
    (void)cudaGetLastError();  // clears the error that CUDA before 11.0 sets for unknown memory
  }
  return "memory of the host, or was freed";
}

// Rejects null and unaligned pointers, and host memory: on most of these a kernel would fault and
// leave the device unusable. The kind of memory is not queried again for a pointer that the
// previous call passed for the same tensor.
void check_pointers(const Embedded& embedded, void* const* tensors) {
  for (size_t i = 0; i < embedded.tensors.size(); ++i) {
    const TensorDesc& tensor = embedded.tensors[i];
    if (tensor.local_bytes() == 0) continue;
    if (tensors == nullptr || tensors[i] == nullptr) {
      refuse("the pointer of tensor " + tensor.name + " is null");
    }
    const auto beyond = reinterpret_cast<uintptr_t>(tensors[i]) % HIRGEN_ALIGNMENT;
    if (beyond != 0) {
      refuse(
          format("the pointer of tensor %s, %p, is %d bytes beyond a multiple of %d: run takes "
                 "multiples alone",
                 tensor.name.c_str(), tensors[i], static_cast<int>(beyond), HIRGEN_ALIGNMENT));
    }
    if (!embedded.pointers.empty() && embedded.pointers[i] == tensors[i]) continue;
    if (const char* const what = host_memory(tensors[i], "begin of call")) {
      refuse(format("the pointer of tensor %s, %p, is %s: run takes memory of cudaMalloc",
                    tensor.name.c_str(), tensors[i], what));
    }
  }
}

/// While a stream is captured, lets this thread allocate memory and share it with other ranks.
class RelaxedCapture {
 public:
  RelaxedCapture() { HG_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_), "capture of a call"); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // after construction: previous mode
};

void issue(Embedded& embedded, cudaStream_t stream, void* const* tensors, size_t count) {
  if (count != embedded.tensors.size()) {
    refuse(format("%zu tensors are given and the program has %zu", count, embedded.tensors.size()));
  }
  const bool captured = is_captured(stream, embedded.capturable);
  std::optional<RelaxedCapture> relaxed;
  if (captured) relaxed.emplace();
  check_pointers(embedded, tensors);
  embedded.pointers.assign(count, nullptr);  // `tensors` may be null on a rank without tensor data
  if (tensors != nullptr) std::copy_n(tensors, count, embedded.pointers.begin());
  try {
    std::vector<void*> places = embedded.pointers;
    if (embedded.staging) {
      places = embedded.staging->places(*embedded.context, embedded.tensors, places.data());
      embedded.staging->copy_in(stream);
    }
    run_call(*embedded.context, *embedded.program, stream, places, captured);
    if (captured) embedded.graphs.add_call(stream);
    if (embedded.staging) embedded.staging->copy_out(stream);
  } catch (const Error& error) {
    if (error.code() != Code::kUsage) embedded.context->call_failed(stream);
    throw;
  }
}

// Issues a call. After an error other than kUsage, the other ranks are informed and the handle
// stays failed.
int run_embedded(const hirgen_handle* handle, Embedded& embedded, cudaStream_t stream,
                 void* const* tensors, size_t count) {
  Context& context = *embedded.context;
  if (const auto failure = context.failure()) return report(handle, *failure);
  try {
    const Watchdog::Inside inside(context.watchdog());
    issue(embedded, stream, tensors, count);
    return HIRGEN_OK;
  } catch (...) {
    const Error error = current_error();
    if (error.code() == Code::kUsage) return report(handle, error);
    context.fail(error);
    return report(handle, context.failure().value_or(error));
  }
}

hirgen_tensor description(const TensorDesc& desc) {
  hirgen_tensor tensor{};
  tensor.name = desc.name.c_str();
  tensor.dtype = static_cast<int32_t>(desc.dtype);
  tensor.output = desc.output ? 1 : 0;
  tensor.axes = static_cast<int32_t>(std::min<size_t>(desc.axes.size(), HIRGEN_MAX_AXES));
  for (int32_t axis = 0; axis < tensor.axes; ++axis) {
    tensor.extent[axis] = desc.axes[static_cast<size_t>(axis)].extent;
    tensor.local_extent[axis] = desc.present ? desc.axes[static_cast<size_t>(axis)].local() : 0;
  }
  tensor.local_bytes = desc.local_bytes();
  return tensor;
}

// Runs the body of a C ABI function on its handle; turns exceptions into codes.
template <typename Body>
int with_handle(const hirgen_handle* handle, Body body) {
  try {
    HandleUse use(handle);
    return body(use);
  } catch (...) {
    return report(handle, current_error());
  }
}

}  // namespace

int abi_create(const ProgramTable& table, const hirgen_options* options, hirgen_handle** handle) {
  try {
    if (handle == nullptr) refuse("the pointer to the new handle is null");
    *handle = nullptr;
    auto made = std::make_unique<Embedded>();
    const ContextOptions own = joining(table.info, options);
    enter_process();
    made->context = std::make_unique<Context>(own);
    build(table, options == nullptr ? nullptr : options->plans, made.get());
    *handle = add_handle(std::move(made));
    return HIRGEN_OK;
  } catch (...) {
    return report(nullptr, current_error());
  }
}

int abi_run(hirgen_handle* handle, void* stream, void* const* tensors, size_t count) {
  return with_handle(handle, [&](HandleUse& use) {
    return run_embedded(handle, *use, static_cast<cudaStream_t>(stream), tensors, count);
  });
}

int abi_status(hirgen_handle* handle) {
  return with_handle(handle, [&](HandleUse& use) {
    const auto failure = use->context->failure();
    return failure ? report(handle, *failure) : HIRGEN_OK;
  });
}

size_t abi_tensor_count(const hirgen_handle* handle) {
  size_t count = 0;
  static_cast<void>(with_handle(handle, [&](HandleUse& use) {
    count = use->tensors.size();
    return HIRGEN_OK;
  }));
  return count;
}

int abi_tensor(hirgen_handle* handle, size_t index, hirgen_tensor* tensor) {
  return with_handle(handle, [&](HandleUse& use) {
    if (tensor == nullptr) refuse("the pointer to the description is null");
    if (index >= use->tensors.size()) {
      refuse(format("there is no tensor %zu: the program has %zu", index, use->tensors.size()));
    }
    *tensor = description(use->tensors[index]);
    return HIRGEN_OK;
  });
}

const char* abi_transport(const hirgen_handle* handle) {
  const char* transport = "";
  static_cast<void>(with_handle(handle, [&](HandleUse& use) {
    transport = use->transport.c_str();
    return HIRGEN_OK;
  }));
  return transport;
}

int abi_destroy(hirgen_handle* handle) {
  if (handle == nullptr) return HIRGEN_OK;
  return with_handle(handle, [&](HandleUse& use) {
    const std::optional<Error> failure = use.destroy();
    if (!failure) return static_cast<int>(HIRGEN_OK);
    static_cast<void>(report(nullptr, *failure));
    return report(handle, *failure);
  });
}

const char* abi_last_error(const hirgen_handle* handle) {
  hirgen_handle* const known = known_handle(handle);
  if (known == nullptr) return g_last_error.c_str();
  const std::lock_guard lock(known->error_mutex);
  g_shown_error = known->last_error;
  return g_shown_error.c_str();
}

int abi_version() { return HIRGEN_ABI_VERSION; }

}  // namespace hirgen
