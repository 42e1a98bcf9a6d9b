// Elements of two tensors combined in their own type, as engine/base/reduce.cpp has it: integers
// wrap around, halves are combined in float32, min and max pass a NaN on.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return static_cast<T>(a + b);
    }
  }
};
struct Product {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct Smaller {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return (b < a || b != b) ? b : a;  // b != b: only a NaN differs from itself
  }
};
struct Larger {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return (b > a || b != b) ? b : a;
  }
};

template <typename Combine>
void combine_all(const Call& call, const Tensor& operand, const Tensor& into,
                 const Combine& combine) {
  visit_dtype(into.dtype(), [&]<typename T>() {
    launch_map(call, "reduce", into.numel(), elements<T>(into), combine, elements<const T>(into),
               elements<const T>(operand));
  });
}

}  // namespace

void reduce(const Call& call, const Tensor& operand, ReduceOp op, const Tensor& into) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return combine_all(call, operand, into, Sum{});
    case ReduceOp::product:
      return combine_all(call, operand, into, Product{});
    case ReduceOp::min:
      return combine_all(call, operand, into, Smaller{});
    case ReduceOp::max:
      return combine_all(call, operand, into, Larger{});
  }
}

}  // namespace lockstep::gpu::kernels
