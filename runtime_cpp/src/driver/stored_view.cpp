#include "driver/stored_view.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>

#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// The distance in a view between adjacent indices along an axis of the tensor: in elements, and in
// entries of StoredView::bases.
struct Step {
  int64_t stride = 0, base = 0;
  bool operator==(const Step&) const = default;
};
using Steps = std::vector<Step>;  // one for each axis of the tensor

int64_t product(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

bool is_row_major(const StoredView& view) {
  int64_t stride = 1;
  for (size_t i = view.extents.size(); i-- > 0; stride *= view.extents[i]) {
    if (view.extents[i] > 1 && view.strides[i] != stride) return false;
  }
  return true;
}

bool is_split(const Axis& axis) { return axis.mesh_extent > 1; }

// The order of the tensor's axes in a view. In a view, an axis that is split over ranks may come
// later than in the tensor: directly before the axis with which the view merges it.
class Order {
 public:
  // `before` has, for each split axis, the index of the axis that it precedes; axes.size(): none.
  Order(const std::vector<Axis>& axes, const std::vector<size_t>& before) {
    for (size_t i = 0; i <= axes.size(); ++i) {
      size_t split = 0;
      for (size_t s = 0; s < axes.size(); ++s) {
        if (!is_split(axes[s])) continue;
        if (before[split++] == i) add(axes, s, i);
      }
      if (i < axes.size() && !is_split(axes[i])) add(axes, i, i);
    }
  }

  // The steps of the axes in a view whose axes merge axes of the tensor, or the reverse; nullopt if
  // the view does not fit.
  std::optional<Steps> steps_in(const StoredView& view) const {
    std::optional<Steps> steps = merged(view);
    return steps || !is_row_major(view) ? steps : divided(view);
  }

 private:
  void add(const std::vector<Axis>& axes, size_t axis, size_t before) {
    order_.push_back(axis);
    extents_.push_back(axes[axis].extent);
    moved_.push_back(is_split(axes[axis]) && next_own(axes, axis) != before);
  }

  static size_t next_own(const std::vector<Axis>& axes, size_t axis) {
    while (axis < axes.size() && is_split(axes[axis])) ++axis;
    return axis;
  }

  // steps_in() if each axis of the view merges axes of the tensor; otherwise nullopt.
  std::optional<Steps> merged(const StoredView& view) const {
    Steps steps(order_.size());
    size_t end = order_.size();
    for (size_t f = view.extents.size(); f-- > 0;) {
      int64_t inside = 1;  // distance along axis f between adjacent indices of the next tensor axis
      while (end > 0 && (inside < view.extents[f] || extents_[end - 1] == 1)) {
        --end;
        const bool is_stack = f == 0 && view.bases.size() > 1;
        steps[order_[end]] = {is_stack ? 0 : inside * view.strides[f], is_stack ? inside : 0};
        inside *= extents_[end];
        if (moved_[end] && inside != view.extents[f]) return std::nullopt;
      }
      if (inside != view.extents[f]) return std::nullopt;
    }
    return end == 0 ? std::optional(steps) : std::nullopt;
  }

  // steps_in() if each axis of the tensor merges axes of the view, which is row-major; otherwise
  // nullopt.
  std::optional<Steps> divided(const StoredView& view) const {
    Steps steps(order_.size());
    int64_t stride = 1;
    size_t f = view.extents.size();
    for (size_t end = order_.size(); end-- > 0;) {
      steps[order_[end]] = {stride, 0};
      int64_t inside = 1;
      while (f > 0 && (inside < extents_[end] || view.extents[f - 1] == 1)) {
        inside *= view.extents[--f];
      }
      if (inside != extents_[end]) return std::nullopt;
      stride *= extents_[end];
    }
    return f == 0 ? std::optional(steps) : std::nullopt;
  }

  std::vector<size_t> order_;
  std::vector<int64_t> extents_;
  std::vector<bool> moved_;
};

[[noreturn]] void refuse(const StoredView& view, const TensorDesc& desc,
                         const std::vector<int64_t>& shape, const char* why) {
  throw Error(Code::kEnvironment,
              format("%s is %s %s and %s needs %s %s%s", view.name.c_str(), view.dtype.c_str(),
                     shape_text(view.extents).c_str(), desc.name.c_str(), stored_name(desc.dtype),
                     shape_text(shape).c_str(), why));
}

// Finds the steps of the axes in a view. If the axes fit the view in the tensor's order, uses that
// order. Otherwise tries all orders in which split axes come later, and throws unless exactly one
// set of steps fits.
Steps place(const StoredView& view, const TensorDesc& desc, const std::vector<Axis>& axes) {
  std::vector<size_t> splits, before;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!is_split(axes[i])) continue;
    splits.push_back(i);
    before.push_back(i + 1);
    while (before.back() < axes.size() && is_split(axes[before.back()])) ++before.back();
  }
  std::optional<Steps> found = Order(axes, before).steps_in(view);
  if (found) return *found;
  std::vector<int64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  const std::function<void(size_t)> search = [&](size_t split) {
    if (split < splits.size()) {
      const size_t first = before[split];
      for (; before[split] < axes.size(); ++before[split]) {
        if (!is_split(axes[before[split]])) search(split + 1);
      }
      before[split] = first;
      return;
    }
    const std::optional<Steps> steps = Order(axes, before).steps_in(view);
    if (steps && found && *steps != *found) refuse(view, desc, shape, ", which fits in two ways");
    if (steps) found = steps;
  };
  search(0);
  if (!found) refuse(view, desc, shape, "");
  return *found;
}

// The elements to copy along an axis, and the steps between them in the view and in the result.
struct Range {
  int64_t first = 0, count = 1;  // along the axis: first index, number of indices
  Step from;
  int64_t to = 0;  // bytes between elements in the result
};

void copy(const StoredView& view, const std::vector<Range>& ranges, size_t axis, int64_t base,
          int64_t from, char* to, int64_t element) {
  if (axis == ranges.size()) {
    std::memcpy(to, view.bases[static_cast<size_t>(base)] + from * element,
                static_cast<size_t>(element));
    return;
  }
  const Range& range = ranges[axis];
  base += range.first * range.from.base;
  from += range.first * range.from.stride;
  const bool is_run = axis + 1 == ranges.size() && range.from == Step{1, 0};
  if (is_run) {
    std::memcpy(to, view.bases[static_cast<size_t>(base)] + from * element,
                static_cast<size_t>(range.count * element));
    return;
  }
  for (int64_t i = 0; i < range.count; ++i) {
    copy(view, ranges, axis + 1, base + i * range.from.base, from + i * range.from.stride,
         to + i * range.to, element);
  }
}

// The axis along which several views are joined: the first one that is not split and is longer than
// 1; axes.size() if there is none.
size_t packed_axis(const std::vector<Axis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!is_split(axes[i]) && axes[i].extent > 1) return i;
  }
  return axes.size();
}

}  // namespace

std::vector<char> read_views(const std::vector<StoredView>& views, const TensorDesc& desc,
                             bool whole) {
  const auto element = static_cast<int64_t>(size_of(desc.dtype));
  std::vector<Range> ranges(desc.axes.size());
  int64_t bytes = element;
  for (size_t i = ranges.size(); i-- > 0;) {
    const Axis& axis = desc.axes[i];
    ranges[i].count = whole ? axis.extent : axis.local();
    ranges[i].first = whole ? 0 : axis.mesh_coordinate * axis.local();
    ranges[i].to = bytes;
    bytes *= ranges[i].count;
  }
  if (!desc.present && !whole) bytes = 0;
  std::vector<char> elements(static_cast<size_t>(bytes));
  const size_t packed = packed_axis(desc.axes);
  if (views.size() > 1 && packed == desc.axes.size()) {
    refuse(views.back(), desc, desc.shape(), ", which has no axis to pack tensors along");
  }
  int64_t done = 0;  // elements along the packed axis that the previous views have
  for (const StoredView& view : views) {
    std::vector<Axis> axes = desc.axes;
    if (views.size() > 1 && packed < axes.size()) {
      const int64_t others = desc.elements() / axes[packed].extent;
      axes[packed].extent = others == 0 ? 0 : product(view.extents) / others;
      ranges[packed].count = axes[packed].extent;
    }
    if (view.dtype != stored_name(desc.dtype)) refuse(view, desc, desc.shape(), "");
    const Steps steps = place(view, desc, axes);
    for (size_t i = 0; i < ranges.size(); ++i) ranges[i].from = steps[i];
    char* const to = elements.data() + (packed < axes.size() ? done * ranges[packed].to : 0);
    done += packed < axes.size() ? axes[packed].extent : 0;
    if (packed < axes.size() && done > desc.axes[packed].extent) break;
    if (!elements.empty()) copy(view, ranges, 0, 0, 0, to, element);
  }
  if (packed < desc.axes.size() && done != desc.axes[packed].extent) {
    refuse(views.back(), desc, desc.shape(), ": the packed tensors do not make it up");
  }
  return elements;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

const char* stored_name(DType type) {
  switch (type) {
#define HG_CASE(enumerator, name, element, value, bytes, digits, stored, ...) \
  case DType::enumerator:                                                     \
    return #stored;
    HG_TYPES(HG_CASE)
#undef HG_CASE
  }
  return "";
}

}  // namespace hirgen
