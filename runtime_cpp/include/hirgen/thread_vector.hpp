// Values of one row, for the bodies of fused kernels. In a body, `fn::silu(Zg) * Zu` stands for all
// elements of a thread. The operators build an expression, which is evaluated when it is stored,
// folded or kept in registers, a few columns per step. So registers hold little more than the
// operands of a row and the values that a body keeps.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "hirgen/numerics.hpp"

namespace hirgen {

/// W values of adjacent columns, in registers.
template <int W>
struct ThreadVector {
  static constexpr int kCount = W;
  float value[W];
};

/// The position of W columns in a row: the index of the access among the accesses of this thread,
/// and the first column.
struct Place {
  int access;
  int64_t column;
};

/// Elements in memory that are read at each use. Columns are `step` elements apart (0: one element
/// for all columns).
template <typename T>
struct Read {
  using Expression = void;
  const T* data;
  int64_t step;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    ThreadVector<W> x;
    if (W > 1 && step == 1) {
      load_as<T, W>(data, place.column, x.value);
      return x;
    }
    HG_UNROLL
    for (int j = 0; j < W; ++j) x.value[j] = widen(data[(place.column + j) * step]);
    return x;
  }
};

/// The numbers first, first + step, ..., one for each column, as floats.
struct Ramp {
  using Expression = void;
  int first;
  int step;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    ThreadVector<W> x;
    HG_UNROLL
    for (int j = 0; j < W; ++j) {
      x.value[j] = static_cast<float>(first + (static_cast<int>(place.column) + j) * step);
    }
    return x;
  }
};

/// C * Width elements that a thread has read and holds in registers, in the element type T of the
/// operand.
template <typename T, int Width, int C>
struct Held {
  using Expression = void;
  Pack<T, Width> packs[C];

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    static_assert(W == Width);
    ThreadVector<W> x;
    widen_all(packs[place.access], x.value);
    return x;
  }
};

/// C * Width values that a thread has computed and keeps in registers, because computing them again
/// would take long.
template <int Width, int C>
struct Kept {
  using Expression = void;
  ThreadVector<Width> values[C];

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    static_assert(W == Width);
    return values[place.access];
  }
};

/// One value for the columns of each of C accesses of a thread, in registers.
template <int C>
struct Uniform {
  using Expression = void;
  float values[C];

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    ThreadVector<W> x;
    HG_UNROLL
    for (int j = 0; j < W; ++j) x.value[j] = values[place.access];
    return x;
  }
};

template <typename V>
concept Expression = requires { typename V::Expression; };
template <typename V>
concept Registers = requires { V::kCount; };
/// A type with a value for each column: an expression, or a ThreadVector.
template <typename V>
concept Vector = Expression<V> || Registers<V>;
/// A Vector, or a float: one value for the whole row.
template <typename V>
concept Value = Vector<V> || std::same_as<V, float>;

/// Returns element j of a value; for a float, the float.
HG_HOST_DEVICE inline float element_of(float x, int /*j*/) { return x; }
template <int W>
HG_HOST_DEVICE inline float element_of(const ThreadVector<W>& x, int j) {
  return x.value[j];
}

/// Returns the W columns of a value at `place`: evaluates an expression, and returns a ThreadVector
/// or a float unchanged.
template <int W, Value V>
HG_HOST_DEVICE inline auto columns_of(const V& x, Place place) {
  if constexpr (Expression<V>) {
    return x.template at<W>(place);
  } else {
    return x;
  }
}

/// Returns numbers that round to T as the W columns of x at `place` do.
template <typename T, int W, Value V>
HG_HOST_DEVICE inline auto columns_to_round(const V& x, Place place) {
  if constexpr (sizeof(T) == 1 && requires { x.template for_bytes<W>(place); }) {
    return x.template for_bytes<W>(place);
  } else {
    return columns_of<W>(x, place);
  }
}

template <Value A>
HG_HOST_DEVICE auto unary(UnaryFn fn, const A& a);
template <Value A, Value B>
HG_HOST_DEVICE auto binary(BinaryFn fn, const A& a, const B& b);

/// fn(a), as an expression.
template <typename A>
struct UnaryExpression {
  using Expression = void;
  UnaryFn fn;
  A a;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    return unary(fn, columns_of<W>(a, place));
  }
};

/// a rounded to T, as an expression.
template <typename T, typename A>
struct CastExpression {
  using Expression = void;
  A a;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    ThreadVector<W> x = columns_to_round<T, W>(a, place);
    HG_UNROLL
    for (float& value : x.value) value = round_as<T>(value);
    return x;
  }
};

/// fn(a, b), as an expression.
template <typename A, typename B>
struct BinaryExpression {
  using Expression = void;
  BinaryFn fn;
  A a;
  B b;

  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    return binary(fn, columns_of<W>(a, place), columns_of<W>(b, place));
  }
};

/// a divided by one divisor for the whole row, or by a divisor for each of N rows, as an
/// expression.
template <Expression A, int N>
struct RowQuotient {
  using Expression = void;
  A a;
  Divisor divisors[N];
  bool positive = true;  ///< whether all divisors are

  HG_HOST_DEVICE RowQuotient(const A& dividends, const float (&values)[N]) : a(dividends) {
    HG_UNROLL
    for (int j = 0; j < N; ++j) {
      divisors[j] = Divisor(values[j]);
      positive = positive && values[j] > 0.0F;
    }
  }
  template <int W>
  HG_HOST_DEVICE ThreadVector<W> at(Place place) const {
    static_assert(N == 1 || N == W);
    ThreadVector<W> x = columns_of<W>(a, place);
    HG_UNROLL
    for (int j = 0; j < W; ++j) x.value[j] = divisors[N == 1 ? 0 : j].divides(x.value[j]);
    return x;
  }
  /// Returns numbers that round to the same 8 bits as those of at().
  template <int W>
  HG_HOST_DEVICE ThreadVector<W> for_bytes(Place place) const {
    ThreadVector<W> x = columns_of<W>(a, place);
    divide_for_bytes(x.value, divisors, positive);
    return x;
  }
};

/// Returns fn(a), as an expression if `a` is one.
template <Value A>
HG_HOST_DEVICE inline auto unary(UnaryFn fn, const A& a) {
  if constexpr (Expression<A>) {
    return UnaryExpression<A>{fn, a};
  } else if constexpr (Registers<A>) {
    A x = a;
    apply(fn, x.value);
    return x;
  } else {
    float x[1] = {a};
    apply(fn, x);
    return x[0];
  }
}

/// Returns fn(a, b), as an expression if an operand is one. A float operand applies to every
/// column.
template <Value A, Value B>
HG_HOST_DEVICE inline auto binary(BinaryFn fn, const A& a, const B& b) {
  if constexpr (Expression<A> || Expression<B>) {
    return BinaryExpression<A, B>{fn, a, b};
  } else if constexpr (Registers<A> || Registers<B>) {
    using Result = std::conditional_t<Registers<A>, A, B>;
    Result x;
    HG_UNROLL
    for (int j = 0; j < Result::kCount; ++j)
      x.value[j] = binary(fn, element_of(a, j), element_of(b, j));
    return x;
  } else {
    float x[1] = {a};
    const float y[1] = {b};
    apply(fn, x, y);
    return x[0];
  }
}

template <Value A, Value B>
  requires(Vector<A> || Vector<B>)
HG_HOST_DEVICE inline auto operator+(const A& a, const B& b) {
  return binary(BinaryFn::kAdd, a, b);
}
template <Value A, Value B>
  requires(Vector<A> || Vector<B>)
HG_HOST_DEVICE inline auto operator-(const A& a, const B& b) {
  return binary(BinaryFn::kSub, a, b);
}
template <Value A, Value B>
  requires(Vector<A> || Vector<B>)
HG_HOST_DEVICE inline auto operator*(const A& a, const B& b) {
  return binary(BinaryFn::kMul, a, b);
}
template <Value A, Value B>
  requires(Vector<A> || Vector<B>)
HG_HOST_DEVICE inline auto operator/(const A& a, const B& b) {
  if constexpr (Expression<A> && std::same_as<B, float>) {
    const float values[] = {b};
    return RowQuotient<A, 1>(a, values);
  } else if constexpr (Expression<A> && Registers<B>) {
    return RowQuotient<A, B::kCount>(a, b.value);
  } else {
    return binary(BinaryFn::kDiv, a, b);
  }
}

/// The functions that bodies call.
namespace fn {

/// Returns `a` rounded to T, as if it were stored as T and loaded again; an expression if `a` is
/// one.
template <typename T, Value A>
HG_HOST_DEVICE inline auto cast(const A& a) {
  if constexpr (Expression<A>) {
    return CastExpression<T, A>{a};
  } else if constexpr (Registers<A>) {
    A x = a;
    for (float& value : x.value) value = round_as<T>(value);
    return x;
  } else {
    return round_as<T>(a);
  }
}

#define HG_UNARY(enumerator, name, ...)         \
  template <Value A>                            \
  HG_HOST_DEVICE inline auto name(const A& a) { \
    return unary(UnaryFn::enumerator, a);       \
  }
HG_UNARY_FUNCTIONS(HG_UNARY)
#undef HG_UNARY

#define HG_CONSTANT(enumerator, name, ...)                \
  template <Value A>                                      \
  HG_HOST_DEVICE inline auto name(const A& a, float by) { \
    return unary(UnaryFn{UnaryFn::enumerator, by}, a);    \
  }
HG_CONSTANT_FUNCTIONS(HG_CONSTANT)
#undef HG_CONSTANT

#define HG_BINARY(enumerator, name, ...)                    \
  template <Value A, Value B>                               \
  HG_HOST_DEVICE inline auto name(const A& a, const B& b) { \
    return binary(BinaryFn::enumerator, a, b);              \
  }
HG_BINARY_FUNCTIONS(HG_BINARY)
#undef HG_BINARY

/// Defines a function `name` (sum, max, ...) that folds x over all columns of the row and returns
/// the result in every thread.
#define HG_FOLD(enumerator, name, ...)                     \
  template <typename Row, Vector X>                        \
    requires(!Value<Row>)                                  \
  HG_HOST_DEVICE inline float name(Row& row, const X& x) { \
    return row.fold(ReduceFn::enumerator, x);              \
  }
HG_FOLDS(HG_FOLD)
#undef HG_FOLD

/// Defines a function `name_blocks` that folds x over each block of B columns of the row. The
/// result of a block is the value of each of its columns.
#define HG_FOLD(enumerator, name, ...)                             \
  template <int B, typename Row, Vector X>                         \
  HG_HOST_DEVICE inline auto name##_blocks(Row& row, const X& x) { \
    return row.template fold_blocks<B>(ReduceFn::enumerator, x);   \
  }
HG_FOLDS(HG_FOLD)
#undef HG_FOLD

/// Stores x, which is the same in all columns of a block, in one element for each block.
template <int B, typename Row, typename Operand, Vector X>
HG_HOST_DEVICE inline void put_blocks(Row& row, const Operand& out, const X& x) {
  row.template put_blocks<B>(out, x);
}

}  // namespace fn
}  // namespace hirgen
