// The reference on a device: whole tensors in fp32, and simple kernels for each operation.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hirgen/reference.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// Evaluates operations on one device, in order on one stream. The host waits for the stream to
/// free a tensor, in dropout() and upload(), and to compute bounds. Operations throw
/// Error(kInternal) for undefined operands or wrong shapes, Error(kEnvironment) if there is too
/// little memory, and Error(kUsage) for a matmul that is too large for one grid.
class DeviceReference final : public Reference {
 public:
  /// If `ranks` is positive, the reference also computes error bounds for programs on this number
  /// of ranks.
  explicit DeviceReference(cudaStream_t stream, int ranks = 0) : stream_(stream), ranks_(ranks) {}

  /// Defines an input by the rule of fill_integers.
  void generate_integers(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input by the rule of fill_normal.
  void generate_normal(const TensorDesc& input, int index, uint64_t seed);
  /// Defines an input by the elements of the whole tensor, in host memory and in its element type.
  /// Returns after they are copied.
  void upload(const TensorDesc& input, const void* whole);

  /// A defined tensor: fp32, row-major, on the device. Valid until it is defined again, or this
  /// object is destroyed.
  const float* data(const std::string& name) const { return found(name.c_str()).data.get(); }
  /// Returns bounds, by element, of the distance between data() and a correct program's result,
  /// which is stored as `dtype`. Null: correct results are equal to data(), or the constructor got
  /// no ranks. May wait for the stream.
  const float* bounds(const std::string& name, DType dtype);
  /// The shape of a defined tensor over all ranks.
  const Shape& shape(const std::string& name) const { return found(name.c_str()).shape; }

  void set(const char* out, const char* in) override;
  void matmul(const char* out, const char* a, const char* b, DType dtype) override;
  void linear(const char* out, const char* x, const char* w, const char* bias,
              DType dtype) override;
  void block_linear(const char* out, const char* x, const char* w, const char* s, const char* t,
                    DType dtype) override;
  void broadcast(const char* out, const char* in, int axis) override;
  void permute(const char* out, const char* in, const std::vector<int>& perm) override;
  void reshape(const char* out, const char* in, const Shape& shape) override;
  void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) override;
  void concat(const char* out, const std::vector<const char*>& in, int axis) override;
  void gather(const char* out, const char* table, const char* ids, const char* first, int axis,
              int batches) override;
  void positions(const char* out, int64_t extent) override;
  void attention(const char* out, const char* logs, const AttentionKind& kind, const char* q,
                 const char* k, const char* v, DType dtype) override;
  void attention_grad(const GradNames& out, const AttentionKind& kind, const char* grad_o,
                      const char* q, const char* k, const char* v, const char* o, const char* logs,
                      DType dtype) override;
  void dropout(const char* out, const Dropout& kind, const char* x, const char* seed,
               const char* column, const char* row, DType dtype) override;
  void cast(const char* out, const char* in, DType dtype) override;
  void unary(const char* out, const char* fn, const char* in, DType dtype) override;
  void binary(const char* out, const char* fn, const char* a, const char* b, DType dtype) override;
  void reduce(const char* out, const char* fn, const char* in, int axis, DType dtype) override;

 private:
  struct Tensor {
    Shape shape;
    std::shared_ptr<float> data;  ///< set() and reshape() share it instead of a copy
    DType dtype = DType::kFp32;   ///< the type that elements are rounded to
    /// Of an uploaded int64 tensor of one element; fp32 keeps only 24 bits.
    std::optional<int64_t> seed = {};
    // The members below are for bounds. bound: by element; null: no element depends on rounding,
    // or there are no ranks.
    std::shared_ptr<float> bound = {};
    std::shared_ptr<float> other = {};  ///< elements of a second evaluation, rounded differently
    bool rounds = false;                ///< to 16 or 8 bits, here or in an earlier operation
    /// Rounding decides between branches of the computation, so `other` may not show the size of
    /// the errors.
    bool jumps = false;
    int64_t samples = 0;  ///< number of elements with independent errors; others repeat these
    bool tight = false;   ///< tighten() has already been applied

    const float* again() const { return (other ? other : data).get(); }
  };
  const Tensor& found(const char* name) const;
  using Arrays = std::vector<const float*>;
  /// Prepares the bounds of a result: sets `bound` to 0, allocates `other`, which the caller fills,
  /// and sets `rounds`, `jumps` and `samples`. `repeats`: elements of the result are elements of
  /// the operands.
  Tensor& bounded(const char* out, const std::vector<Tensor>& operands, DType dtype,
                  bool repeats = false);
  /// Defines a tensor by copying elements of other tensors: copy(to, arrays) gets one array of each
  /// operand. move() calls it for elements, and if there are bounds also for bounds and second
  /// evaluations.
  void move(const char* out, const std::vector<Tensor>& in, const Shape& shape,
            const std::function<void(float*, const Arrays&)>& copy);
  /// Returns the largest relative error that all elements can have in common by their bounds; 0
  /// without bounds, or if it is 1 or more. Waits for the stream.
  double common(const Tensor& operand) const;
  /// Returns whether an element has an infinite bound. Waits for the stream.
  bool unsure(const Tensor& operand) const;
  /// Returns the relative error of a sum of `terms` terms whose partial sums on the ranks are
  /// rounded to the type of the operands or of the result, whichever is less precise; 0 for one
  /// term.
  double partial(int64_t terms, DType operand, DType result) const;
  void bound_product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
                     DType dtype);
  /// Computes the bounds of the results of attend(arrays, results). `roundings` are the units in
  /// the last place of 1, in the operands' types.
  void bound_attention(
      const std::vector<const char*>& out, const std::vector<Tensor>& operands,
      const std::vector<double>& roundings, DType dtype,
      const std::function<void(const Arrays&, const std::vector<float*>&)>& attend);
  void tighten(Tensor& tensor);
  /// Allocates memory for `name`, or reuses its memory of the same size; the content is undefined.
  float* define(const char* name, const Shape& shape, DType dtype);
  std::shared_ptr<float> allocate(int64_t elements, const char* name);
  /// Returns the operand of a matmul, broadcast to batch axes `batch`.
  Tensor stretch(const Tensor& operand, Shape batch);
  /// Computes a matmul; broadcasts batch axes. A third operand is the bias.
  void multiply(float* out, std::vector<Tensor> operands, bool transposed_b, DType dtype);
  /// Returns an 8-bit operand times the scales of its blocks of `rows` x 128 elements.
  Tensor scaled(const char* in, const char* scales, int64_t rows);
  /// Defines `out` as the result of multiply(), with its bounds.
  void product(const char* out, const std::vector<Tensor>& operands, bool transposed_b,
               DType dtype);

  cudaStream_t stream_;
  int ranks_;
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> uploaded_;
};

}  // namespace hirgen
