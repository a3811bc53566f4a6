// Local reductions: folds of the slices of a tensor along an axis.
#include <algorithm>
#include <string>

#include "hirgen/fold.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/numerics.hpp"
#include "hirgen/views.hpp"

namespace hirgen {
namespace {

/// A sum, as the function of a Fold. A kernel that is compiled for one function takes half of the
/// time of a kernel for all functions. Most folds are sums, so only they have such kernels.
struct Sum {
  HG_HOST_DEVICE constexpr operator ReduceFn() const { return ReduceFn::kSum; }
};

/// A Fold (fold.hpp) of `count` slices that are `step` elements apart. `in` has elements of type T.
/// A thread computes W adjacent results at once. Function is ReduceFn or Sum.
template <typename T, int W, typename Function>
struct Folding {
  static constexpr int kWidth = W;

  Function fn;
  void* out;
  const void* in;
  DType out_type;
  int64_t count, step;
  bool adjacent;
  Walk<2> walk;

  HG_HOST_DEVICE int64_t results() const { return walk.elements(); }
  HG_HOST_DEVICE const T* start(int64_t i) const {
    int64_t at[2];
    walk.offsets(i * W, at);
    return static_cast<const T*>(in) + at[1];
  }
  HG_HOST_DEVICE Pack<T, W> read(const T* start, int64_t slice) const {
    return pack_at<W>(start + slice * step);
  }
  HG_HOST_DEVICE void value(const T* /*start*/, const Pack<T, W>& part, float (&x)[W]) const {
    for (int j = 0; j < W; ++j) x[j] = widen(part.value[j]);
  }
  template <int N>
  HG_HOST_DEVICE void store(int64_t result, const float (&sum)[N]) const {
    int64_t at[2];
    walk.offsets(result, at);
    hirgen::store(out, out_type, at[0], sum);
  }
};

/// A Fold along adjacent elements. Each of the `count` slices has hirgen::kWidth adjacent elements,
/// and value() folds them to one value.
template <typename T, typename Function>
struct FoldingAlong : Folding<T, 1, Function> {
  HG_HOST_DEVICE Pack<T, hirgen::kWidth> read(const T* start, int64_t slice) const {
    return pack_at<hirgen::kWidth>(start + slice * hirgen::kWidth);
  }
  HG_HOST_DEVICE void value(const T* /*start*/, const Pack<T, hirgen::kWidth>& part,
                            float (&x)[1]) const {
    x[0] = widen(part.value[0]);
    for (int j = 1; j < hirgen::kWidth; ++j) apply(this->fn, x, {widen(part.value[j])});
  }
};

}  // namespace

void launch_reduce(ReduceFn fn, int axis, void* out, DType out_type, const Strided& out_view,
                   const void* in, DType in_type, const Strided& in_view, cudaStream_t stream,
                   const char* where) {
  const Walk<2> walk = walk_over<2>({&out_view, &in_view}, axis, where);
  const int64_t count = in_view.extent[axis], step = in_view.stride[axis];
  const bool vectorised = walk.divides(kWidth) && step % kWidth == 0 && aligned(out) && aligned(in);
  const auto whole = [](int64_t stride) { return stride % kWidth == 0; };
  const bool along = step == 1 && whole(count) && aligned(in) &&
                     std::all_of(walk.stride[1], walk.stride[1] + walk.axes, whole);
  const auto launch = [&]<typename T, typename Function>(const T* /*element*/, Function by) {
    const auto enqueue = [&](const auto& fold) { launch_fold(fold, stream, where); };
    if (along) {
      enqueue(
          FoldingAlong<T, Function>{{by, out, in, out_type, count / kWidth, kWidth, true, walk}});
    } else if (vectorised) {
      enqueue(Folding<T, kWidth, Function>{by, out, in, out_type, count, step, step == 1, walk});
    } else {
      enqueue(Folding<T, 1, Function>{by, out, in, out_type, count, step, step == 1, walk});
    }
  };
  const auto launch_by_function = [&](const auto* element) {
    if (fn == ReduceFn::kSum) {
      launch(element, Sum{});
    } else {
      launch(element, fn);
    }
  };
  switch (in_type) {
#define HG_CASE(enumerator, name, element, ...) \
  case DType::enumerator:                       \
    return launch_by_function(static_cast<const element*>(nullptr));
    HG_NUMBER_TYPES(HG_CASE)
#undef HG_CASE
    default:
      break;
  }
  throw Error(Code::kInternal, std::string(where) + ": a reduction of integers");
}

}  // namespace hirgen
