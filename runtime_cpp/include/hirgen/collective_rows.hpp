// Collectives, as macros that call their argument for each row.
// Code generated from calls/collective/rows.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// row(name in reports, whether each rank contributes or receives a shard, how often data goes
/// around a ring)
#define HG_COLLECTIVES(row) \
  row(allgather, true, 1) \
  row(allreduce, false, 2) \
  row(reducescatter, true, 1) \
  row(gather, true, 1) \
  row(scatter, true, 1) \
  row(reduce, false, 1) \
  row(broadcast, false, 1) \
  row(alltoall, true, 1) \
  row(sendrecv, false, 1)

/// row(kind in traces, function of NCCL)
#define HG_NCCL_COLLECTIVES(row) \
  row(kNccl, ncclAllGather) \
  row(kNccl, ncclAllReduce) \
  row(kNccl, ncclReduceScatter) \
  row(kNccl, ncclReduce) \
  row(kNccl, ncclBroadcast)

// clang-format on
