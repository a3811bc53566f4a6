// Makes the inputs of checked calls, for the program on this rank and for the reference.
#include "driver/driver.hpp"
#include "hirgen/error.hpp"
#include "hirgen/fill.hpp"

namespace hirgen {

namespace {

constexpr const char* kInputs = "inputs of a checked call";

}  // namespace

bool Driver::is_drawn(size_t tensor) const {
  return !descs_[tensor].output && !loaded_.contains(tensor);
}

uint64_t Driver::seed_of(int64_t call) const { return options_.seed + static_cast<uint64_t>(call); }

// Computes the saved inputs of all checked calls in advance: evaluating the reference may block the
// host, which must not wait between the calls.
void Driver::keep_saved_inputs() {
  if (!reference_ || table_.saved == nullptr) return;
  for (int64_t call = 0; call < options_.checks; ++call) {
    draw_whole_inputs(call);
    for (size_t i = 0; i < descs_.size(); ++i) {
      if (!descs_[i].saved || !is_drawn(i)) continue;
      shard_from_whole(saved_[i][static_cast<size_t>(call)], descs_[i],
                       reference_->data(descs_[i].name), stream_);
    }
  }
}

void Driver::fill_inputs(int64_t call) {
  for (size_t i = 0; i < descs_.size(); ++i) {
    if (!is_drawn(i)) continue;
    if (saved_.contains(i)) {
      HG_CHECK(cudaMemcpyAsync(tensors_[i], saved_[i][static_cast<size_t>(call)],
                               descs_[i].local_bytes(), cudaMemcpyDeviceToDevice, stream_),
               kInputs);
      continue;
    }
    const auto fill = exact_ ? fill_integers : fill_normal;
    fill(tensors_[i], descs_[i], static_cast<int>(i), seed_of(call), stream_);
  }
}

void Driver::draw_whole_inputs(int64_t call) {
  for (size_t i = 0; i < descs_.size(); ++i) {
    if (!is_drawn(i)) continue;
    if (exact_) {
      reference_->generate_integers(descs_[i], static_cast<int>(i), seed_of(call));
    } else {
      reference_->generate_normal(descs_[i], static_cast<int>(i), seed_of(call));
    }
  }
  if (table_.saved != nullptr) table_.saved(*reference_);
}

void Driver::evaluate_reference(int64_t call) {
  draw_whole_inputs(call);
  table_.reference(*reference_);
  context_.synchronize(stream_);
}

}  // namespace hirgen
