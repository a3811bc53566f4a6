#include "hirgen/abi.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "current_error.hpp"
#include "hirgen/error.hpp"
#include "launch_env.hpp"
#include "plan_book.hpp"
#include "text.hpp"
#include "transport.hpp"

/// What a handle points to. Members are freed in reverse order: the program first.
struct hirgen_handle {
  std::unique_ptr<hirgen::Context> context;
  std::vector<hirgen::TensorDesc> tensors;
  std::string transport;
  std::unique_ptr<hirgen::Program> program;
  std::vector<void*> pointers;  ///< of the call being issued; kept for its memory
  hirgen::Code failed = hirgen::Code::kOk;
  std::string last_error;
};

namespace hirgen {

namespace {

constexpr double kDefaultTimeout = 60;

// Of this thread's last create or destroy.
thread_local std::string g_last_error;

int report(std::string* place, const Error& error) {
  *place = error.what();
  return static_cast<int>(error.code());
}

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::kUsage, what); }

double timeout_of(const hirgen_options* options) {
  if (options == nullptr || options->timeout_seconds == 0) return kDefaultTimeout;
  if (!(options->timeout_seconds >= 1)) refuse("timeout_seconds must be 0 or at least 1");
  return options->timeout_seconds;
}

ContextOptions joining(const ProgramInfo& info, const hirgen_options* options) {
  if (options != nullptr && options->version != HIRGEN_ABI_VERSION) {
    refuse(format("options.version is %u and the library's HIRGEN_ABI_VERSION is %d",
                  options->version, HIRGEN_ABI_VERSION));
  }
  const double timeout = timeout_of(options);
  if (options == nullptr || options->world == 0) return options_from_environment(info, timeout);
  if (options->world < 0 || options->rank < 0 || options->rank >= options->world) {
    refuse(format("rank %d of world %d is out of range", options->rank, options->world));
  }
  Launch launch;
  launch.family = "hirgen_options";
  launch.rank = options->rank;
  launch.world = options->world;
  launch.address = options->address == nullptr ? "" : options->address;
  launch.port = options->port;
  ContextOptions joining = context_options(launch, info, timeout);
  joining.device = options->device;
  return joining;
}

// Builds the program, and tells the other ranks if that fails.
void build(const ProgramTable& table, const char* plans, hirgen_handle* handle) {
  try {
    Context& context = *handle->context;
    if (plans != nullptr) context.plans().load(plans, library_of(context.options().device));
    handle->tensors = table.tensors(context.rank());
    MadeProgram made = make_program(context, table, "");
    handle->program = std::move(made.program);
    handle->transport = made.transport;
    for (const std::string& note : context.plans().notes()) {
      std::fprintf(stderr, "hirgen: %s (rank %d)\n", note.c_str(), context.rank());
    }
  } catch (...) {
    handle->context->fail(current_error());
    throw;
  }
}

void issue(hirgen_handle* handle, cudaStream_t stream, void* const* tensors, size_t count) {
  if (count != handle->tensors.size()) {
    refuse(format("%zu tensors are given and the program has %zu", count, handle->tensors.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    if (tensors == nullptr || (tensors[i] == nullptr && handle->tensors[i].local_bytes() > 0)) {
      refuse("the pointer of tensor " + handle->tensors[i].name + " is null");
    }
  }
  handle->pointers.assign(tensors, tensors + count);
  run_call(*handle->context, *handle->program, stream, handle->pointers);
}

}  // namespace

int abi_create(const ProgramTable& table, const hirgen_options* options, hirgen_handle** handle) {
  try {
    if (handle == nullptr) refuse("the place for the handle is null");
    *handle = nullptr;
    auto made = std::make_unique<hirgen_handle>();
    made->context = std::make_unique<Context>(joining(table.info, options));
    build(table, options == nullptr ? nullptr : options->plans, made.get());
    *handle = made.release();
    return HIRGEN_OK;
  } catch (...) {
    return report(&g_last_error, current_error());
  }
}

int abi_run(hirgen_handle* handle, void* stream, void* const* tensors, size_t count) {
  if (handle == nullptr) {
    g_last_error = "the handle is null";
    return HIRGEN_USAGE;
  }
  if (handle->failed != Code::kOk) return static_cast<int>(handle->failed);
  try {
    issue(handle, static_cast<cudaStream_t>(stream), tensors, count);
    return HIRGEN_OK;
  } catch (...) {
    const Error error = current_error();
    if (error.code() != Code::kUsage) {
      handle->failed = error.code();
      handle->context->fail(error);
    }
    return report(&handle->last_error, error);
  }
}

size_t abi_tensor_count(const hirgen_handle* handle) {
  return handle == nullptr ? 0 : handle->tensors.size();
}

int abi_tensor(hirgen_handle* handle, size_t index, hirgen_tensor* tensor) {
  if (handle == nullptr || tensor == nullptr) {
    g_last_error = "the handle or the place for the description is null";
    return HIRGEN_USAGE;
  }
  if (index >= handle->tensors.size()) {
    handle->last_error =
        format("there is no tensor %zu: the program has %zu", index, handle->tensors.size());
    return HIRGEN_USAGE;
  }
  const TensorDesc& desc = handle->tensors[index];
  *tensor = {};
  tensor->name = desc.name.c_str();
  tensor->dtype = static_cast<int32_t>(desc.dtype);
  tensor->output = desc.output ? 1 : 0;
  tensor->axes = static_cast<int32_t>(std::min<size_t>(desc.axes.size(), HIRGEN_MAX_AXES));
  for (int32_t axis = 0; axis < tensor->axes; ++axis) {
    tensor->extent[axis] = desc.axes[static_cast<size_t>(axis)].extent;
    tensor->local_extent[axis] = desc.present ? desc.axes[static_cast<size_t>(axis)].local() : 0;
  }
  tensor->local_bytes = desc.local_bytes();
  return HIRGEN_OK;
}

const char* abi_transport(const hirgen_handle* handle) {
  return handle == nullptr ? "" : handle->transport.c_str();
}

int abi_destroy(hirgen_handle* handle) {
  if (handle == nullptr) return HIRGEN_OK;
  const Code failed = handle->failed;
  delete handle;
  return static_cast<int>(failed);
}

const char* abi_last_error(const hirgen_handle* handle) {
  return handle == nullptr ? g_last_error.c_str() : handle->last_error.c_str();
}

int abi_version() { return HIRGEN_ABI_VERSION; }

}  // namespace hirgen
