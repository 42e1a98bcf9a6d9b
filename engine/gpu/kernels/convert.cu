// Elements of one type as elements of another, and indices that are looked at: the kernels that may
// find a fault. engine/base/convert.hpp has the rule: each conversion goes through float64, or
// gives the same bits.
#include <limits>

#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu::kernels {
namespace {

template <typename T>
constexpr bool is_short = sizeof(T) == 2 || std::is_same_v<T, float>;  // float32 and halves

// As fits() of convert.hpp. Both bounds are powers of two or zero, so exact; a NaN compares false.
template <typename T>
__device__ bool fits(double value) {
  constexpr double beyond =
      2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1));
  const double whole = trunc(value);
  return whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < beyond;
}

template <typename From, typename To>
__global__ void convert_each(std::int64_t count, const From* from, To* to, Fault* fault) {
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    if constexpr (is_short<From> && is_short<To>) {
      to[i] = static_cast<To>(static_cast<float>(from[i]));
    } else if constexpr (std::is_integral_v<To>) {
      const auto value = static_cast<double>(from[i]);
      const bool held = fits<To>(value);
      to[i] = held ? static_cast<To>(value) : To(0);
      if (!held) {
        atomicMin(reinterpret_cast<unsigned long long*>(&fault->candidate),
                  static_cast<unsigned long long>(i));
      }
    } else {
      to[i] = static_cast<To>(static_cast<double>(from[i]));
    }
  }
}

// One thread, behind the kernel above: what it found is the fault, unless there was one before.
template <typename From>
__global__ void keep_first(const From* from, std::uint64_t check, Fault* fault) {
  const std::uint64_t place = fault->candidate;
  if (place == no_candidate) return;
  fault->candidate = no_candidate;
  if (fault->check != 0) return;
  fault->check = check;
  fault->place = static_cast<std::int64_t>(place);
  fault->value = static_cast<double>(from[place]);
}

struct Ignored {
  std::int64_t index;
  int some;  // 0: no index is ignored
};

// One block looks at all indices: they are few beside what they choose, and the lowest place that
// is wrong is found without a second kernel.
__global__ void check_each(std::int64_t count, const std::int64_t* indices, std::int64_t limit,
                           Ignored ignored, int needed, std::uint64_t check, Fault* fault) {
  using Block = Team<block_threads>;
  std::int64_t wrong = count, used = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += block_threads) {
    const std::int64_t index = indices[i];
    if (ignored.some == 1 && index == ignored.index) continue;
    if (index < 0 || index >= limit) wrong = i < wrong ? i : wrong;
    used = 1;
  }
  wrong = Block::reduce(wrong, Least{});
  used = Block::largest(used);
  if (threadIdx.x != 0 || fault->check != 0) return;
  if (wrong < count) {
    fault->check = check;
    fault->place = wrong;
    fault->index = indices[wrong];
  } else if (used == 0 && needed == 1) {
    fault->check = check;
    fault->place = -1;
    fault->index = 0;
  }
}

}  // namespace

void convert(const Call& call, const Tensor& from, const Tensor& to) {
  if (from.dtype() == to.dtype()) return copy(call, from, to);
  const std::int64_t count = to.numel();
  if (count == 0) return;
  Fault* const fault = call.faults.record();
  visit_dtype(from.dtype(), [&]<typename From>() {
    visit_dtype(to.dtype(), [&]<typename To>() {
      if constexpr (!std::is_same_v<From, To>) {
        convert_each<<<blocks_for(count, block_threads), block_threads, 0, call.stream>>>(
            count, elements<const From>(from), elements<To>(to), fault);
        check_launch("convert");
      }
    });
    if (!is_integer(to.dtype())) return;
    keep_first<<<1, 1, 0, call.stream>>>(elements<const From>(from), call.faults.expect(to.dtype()),
                                         fault);
    check_launch("convert");
  });
}

void check_indices(const Call& call, const Tensor& indices, const IndexRule& rule) {
  const bool needed = rule.some == IndexRule::Some::needed;
  if (indices.numel() == 0 && !needed) return;
  check_each<<<1, block_threads, 0, call.stream>>>(
      indices.numel(), elements<const std::int64_t>(indices), rule.limit,
      {rule.ignored.value_or(0), rule.ignored ? 1 : 0}, needed ? 1 : 0, call.faults.expect(rule),
      call.faults.record());
  check_launch("check_indices");
}

}  // namespace lockstep::gpu::kernels
