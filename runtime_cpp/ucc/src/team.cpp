#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "exchange.hpp"
#include "library.hpp"

namespace hirgen {
namespace {

size_t size_of(ucc_datatype_t type) {
  if (type == UCC_DT_BFLOAT16 || type == UCC_DT_FLOAT16) return 2;
  if (type == UCC_DT_UINT8) return 1;
  return type == UCC_DT_INT64 ? 8 : 4;
}

/// The numbers of slices in the source and result buffers of a call. A slice has the `count`
/// elements of UccTeam::post().
struct Slices {
  uint64_t sent, received;
};

Slices slices_of(ucc_coll_type_t type, int size) {
  const auto all = static_cast<uint64_t>(size);
  switch (type) {
    case UCC_COLL_TYPE_ALLGATHER:
    case UCC_COLL_TYPE_GATHER:
      return {1, all};
    case UCC_COLL_TYPE_REDUCE_SCATTER:
    case UCC_COLL_TYPE_SCATTER:
      return {all, 1};
    case UCC_COLL_TYPE_ALLTOALL:
      return {all, all};
    default:
      return {1, 1};
  }
}

bool is_rooted(ucc_coll_type_t type) {
  return type == UCC_COLL_TYPE_GATHER || type == UCC_COLL_TYPE_SCATTER ||
         type == UCC_COLL_TYPE_REDUCE;
}

// Sets UCC's in-place flag if both buffers are the same, or if the smaller one is this rank's slice
// of the larger one. Does not set it for all-to-all and broadcast; for a collective with a root,
// only the root sets it. With the flag, UCC uses only the result buffer, so a reduce-scatter gets
// the larger buffer as its result. The root of a scatter still reads its source buffer, and does
// not copy its own slice.
void find_in_place(ucc_coll_args_t* args, const UccTeam& team, size_t slice) {
  if (args->coll_type == UCC_COLL_TYPE_ALLTOALL || args->coll_type == UCC_COLL_TYPE_BCAST) return;
  if (is_rooted(args->coll_type) && args->root != static_cast<uint64_t>(team.rank)) return;
  ucc_coll_buffer_info_t& src = args->src.info;
  ucc_coll_buffer_info_t& dst = args->dst.info;
  const bool scatters = src.count > dst.count;
  ucc_coll_buffer_info_t& whole = scatters ? src : dst;
  const ucc_coll_buffer_info_t& part = scatters ? dst : src;
  const size_t offset = src.count == dst.count ? 0 : static_cast<size_t>(team.rank) * slice;
  if (part.buffer != static_cast<char*>(whole.buffer) + offset) return;
  args->mask |= UCC_COLL_ARGS_FIELD_FLAGS;
  args->flags |= UCC_COLL_ARGS_FLAG_IN_PLACE;
  if (args->coll_type == UCC_COLL_TYPE_REDUCE_SCATTER) dst = whole;
}

}  // namespace

UccTeam::UccTeam(Ucc& ucc, const std::vector<int>& ranks, const char* where)
    : UccTeam(*ucc.library_, ucc.library_->context().bare_team(ranks, where), ranks, where) {}

UccTeam::UccTeam(UccLibrary& library, const Team& team, const std::vector<int>& ranks,
                 const char* where)
    : rank(team.rank), size(team.size), stream(team.stream), library_(library) {
  library_.set_broken(true);  // until the team is made
  make(ranks, where);
  library_.set_broken(false);
}

void UccTeam::make(const std::vector<int>& ranks, const char* where) {
  UccExchange exchange(library_.context().rendezvous(), ranks, rank, false);
  if (rank >= 0) {
    ucc_team_params_t params{};
    params.mask =
        UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE | UCC_TEAM_PARAM_FIELD_OOB;
    params.ep = static_cast<uint64_t>(rank);
    params.ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
    params.oob = exchange.callbacks();
    ucc_context_h context = library_.handle();
    HG_CHECK(ucc_team_create_post(&context, 1, &params, &team_), where);
  }
  ucc_status_t status = rank >= 0 ? UCC_INPROGRESS : UCC_OK;
  const bool made = library_.progress_until([&] {
    if (status != UCC_OK) HG_CHECK(status = ucc_team_create_test(team_), where);
    return exchange.round(status == UCC_OK);
  });
  if (!made) library_.give_up(format("%s: UCC did not make the team in time", where));
}

UccTeam::~UccTeam() {
  if (rank < 0 || !library_.sound()) return;
  library_.drain();
  if (!library_.sound()) return;
  for (const auto& [on, engine] : engines_) (void)ucc_ee_destroy(engine);
  const bool freed =
      library_.progress_until([this] { return ucc_team_destroy(team_) != UCC_INPROGRESS; });
  if (!freed) library_.set_broken(true);
}

ucc_ee_h UccTeam::engine(cudaStream_t on, const char* where) {
  ucc_ee_h& engine = engines_[on];
  if (engine == nullptr) {
    ucc_ee_params_t params{UCC_EE_CUDA_STREAM, on, sizeof(cudaStream_t)};
    HG_CHECK(ucc_ee_create(team_, &params, &engine), where);
  }
  return engine;
}

void UccTeam::post(const UccKind& kind, const void* in, void* out, int64_t count,
                   ucc_datatype_t type, cudaStream_t on, const char* where) {
  if (count == 0) return;
  const size_t slice = static_cast<size_t>(count) * size_of(type);
  const Slices slices = slices_of(kind.type, size);
  if (kind.type == UCC_COLL_TYPE_BCAST) {  // one buffer: `in` of the root, `out` of other ranks
    if (rank != kind.root) {
      in = out;
    } else if (in != out) {
      HG_CHECK(cudaMemcpyAsync(out, in, slice, cudaMemcpyDeviceToDevice, on), where);
    }
  }
  const auto elements = static_cast<uint64_t>(count);
  ucc_coll_args_t args{};  // NOLINT(bugprone-invalid-enum-default-initialization): C's structure
  args.coll_type = kind.type;
  args.src.info = {const_cast<void*>(in), elements * slices.sent, type, UCC_MEMORY_TYPE_CUDA};
  args.dst.info = {out, elements * slices.received, type, UCC_MEMORY_TYPE_CUDA};
  args.op = kind.op;
  args.root = static_cast<uint64_t>(kind.root);
  find_in_place(&args, *this, slice);
  const TracedCall traced(TraceKind::kNccl, "ucc_collective_triggered_post", on, where);
  ucc_coll_req_h request = nullptr;
  HG_CHECK(ucc_collective_init(&args, &request, team_), where);
  const ucc_ee_h queue = engine(on, where);
  ucc_ev_t event{UCC_EVENT_COMPUTE_COMPLETE, nullptr, 0, request};
  HG_CHECK(ucc_collective_triggered_post(queue, &event), where);
  await_start(queue, request, where);
  library_.take(request, where);
}

// Blocks the host until UCC reports the start of the collective. Work that is enqueued on the
// stream after this start waits for the collective.
void UccTeam::await_start(ucc_ee_h engine, ucc_coll_req_h request, const char* where) {
  const bool started = library_.progress_until([&] {
    ucc_ev_t* event = nullptr;
    const ucc_status_t status = ucc_ee_get_event(engine, &event);
    if (status == UCC_ERR_NOT_FOUND) return false;
    HG_CHECK(status, where);
    const bool starts = event->ev_type == UCC_EVENT_COLLECTIVE_POST && event->req == request;
    HG_CHECK(ucc_ee_ack_event(engine, event), where);
    return starts;
  });
  if (!started) library_.give_up(format("%s: UCC did not start the collective in time", where));
}

}  // namespace hirgen
