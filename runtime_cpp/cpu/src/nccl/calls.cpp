// The NCCL functions for operations. They check arguments before they enqueue anything.
#include <nccl.h>

#include "core/error.hpp"
#include "log/log.hpp"
#include "memory/memory.hpp"
#include "nccl/group.hpp"
#include "nccl/reduce.hpp"

using namespace hirgen_cpu;

namespace {

/// Returns the information with which a peer maps this rank's buffer; an empty BufferAddress for a
/// buffer of 0 bytes. Throws NcclFailure if the buffer is another process's memory.
BufferAddress address_of(const void* pointer, size_t bytes) {
  BufferAddress address;
  if (bytes == 0 || pointer == nullptr) return address;
  std::shared_ptr<const Allocation> allocation = find_allocation(pointer);
  if (allocation->kind == MemoryKind::kPeer) {
    throw NcclFailure{ncclInvalidArgument, "the buffer is another process's memory"};
  }
  address.pointer = pointer;
  address.block = allocation->block.address();
  address.offset = static_cast<uint64_t>(static_cast<const char*>(pointer) -
                                         static_cast<const char*>(allocation->block.data()));
  return address;
}

struct Buffers {
  const void* send;
  size_t send_count;
  void* receive;
  size_t receive_count;
};

/// Returns the operands of a call on this rank, for the log. The root of an in-place broadcast
/// writes no operand.
std::vector<LoggedOperand> operands_of(const Buffers& buffers, const OpPost& post) {
  std::vector<LoggedOperand> operands;
  const size_t size = size_of(post.type);
  if (buffers.send_count > 0) {
    operands.push_back(logged_run(buffers.send, false, size, buffers.send_count));
  }
  const bool kept =
      post.kind == OpKind::kBroadcast && buffers.send_count > 0 && buffers.send == buffers.receive;
  if (buffers.receive_count > 0 && !kept) {
    operands.push_back(logged_run(buffers.receive, true, size, buffers.receive_count));
  }
  return operands;
}

/// Checks and issues one call. A count of 0 in the result of buffers_for() means that this rank
/// does not use that buffer.
ncclResult_t call(const char* name, OpPost post, ncclComm_t handle, cudaStream_t stream,
                  const std::function<Buffers(const Comm&)>& buffers_for) {
  const ncclResult_t result = nccl_api(name, [&] {
    std::shared_ptr<Comm> comm = comm_of(handle);
    if (ncclResult_t status = comm->status(); status != ncclSuccess) {
      throw NcclFailure{
          status == ncclInProgress ? ncclInvalidUsage : status,
          status == ncclInProgress ? "the communicator is still being made" : comm->last_error()};
    }
    nccl_require(size_of(post.type) != 0, "unknown data type");
    nccl_require(post.reduction >= ncclSum && post.reduction <= ncclMin, "unknown reduction");
    nccl_require(post.root >= 0 && post.root < comm->size, "root or peer out of range");
    Buffers buffers = buffers_for(*comm);
    size_t send_bytes = buffers.send_count * size_of(post.type);
    size_t receive_bytes = buffers.receive_count * size_of(post.type);
    require_device_memory(buffers.send, send_bytes, "send buffer");
    require_device_memory(buffers.receive, receive_bytes, "receive buffer");
    for (const void* buffer : {buffers.send, static_cast<const void*>(buffers.receive)}) {
      nccl_require(reinterpret_cast<uintptr_t>(buffer) % size_of(post.type) == 0,
                   "a buffer does not begin at an element");
    }
    post.send = address_of(buffers.send, send_bytes);
    post.receive = address_of(buffers.receive, receive_bytes);
    log_call(name, stream, [&] { return operands_of(buffers, post); });
    issue(comm, {post, buffers.receive}, stream);
    return ncclSuccess;
  });
  if (result != ncclSuccess) refuse_group(result);
  return result;
}

}  // namespace

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  OpPost post{OpKind::kAllGather, datatype, ncclSum, 0, sendcount, {}, {}};
  return call("ncclAllGather", post, comm, stream, [&](const Comm& c) {
    return Buffers{sendbuff, sendcount, recvbuff, sendcount * static_cast<size_t>(c.size)};
  });
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  OpPost post{OpKind::kReduceScatter, datatype, op, 0, recvcount, {}, {}};
  return call("ncclReduceScatter", post, comm, stream, [&](const Comm& c) {
    return Buffers{sendbuff, recvcount * static_cast<size_t>(c.size), recvbuff, recvcount};
  });
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  OpPost post{OpKind::kAllReduce, datatype, op, 0, count, {}, {}};
  return call("ncclAllReduce", post, comm, stream,
              [&](const Comm&) { return Buffers{sendbuff, count, recvbuff, count}; });
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  OpPost post{OpKind::kBroadcast, datatype, ncclSum, root, count, {}, {}};
  return call("ncclBroadcast", post, comm, stream, [&](const Comm& c) {
    return Buffers{sendbuff, c.rank == root ? count : 0, recvbuff, count};
  });
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  OpPost post{OpKind::kReduce, datatype, op, root, count, {}, {}};
  return call("ncclReduce", post, comm, stream, [&](const Comm& c) {
    return Buffers{sendbuff, count, recvbuff, c.rank == root ? count : 0};
  });
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  OpPost post{OpKind::kSend, datatype, ncclSum, peer, count, {}, {}};
  return call("ncclSend", post, comm, stream,
              [&](const Comm&) { return Buffers{sendbuff, count, nullptr, 0}; });
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  OpPost post{OpKind::kRecv, datatype, ncclSum, peer, count, {}, {}};
  return call("ncclRecv", post, comm, stream,
              [&](const Comm&) { return Buffers{nullptr, 0, recvbuff, count}; });
}
