// A stable sort of all places, entries with value before place, and a Pending of its own that adds
// them up.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/top_k.hpp"

namespace lockstep::compress {
namespace {

template <typename T>
class Gathered final : public comm::Pending {
 public:
  Gathered(comm::ProcessGroup& group, Tensor gradient, const Tensor& residual, std::int64_t k)
      : gradient_(std::move(gradient)) {
    const auto waiting = residual.data<T>();
    std::vector<std::size_t> order(waiting.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto size_of = [&](std::size_t i) {
      return std::isnan(waiting[i]) ? std::numeric_limits<T>::infinity() : std::abs(waiting[i]);
    };
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return size_of(a) > size_of(b); });
    mine_ = empty({k * entry_bytes}, DType::uint8, gradient_.device());
    for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
      const auto place = static_cast<std::int32_t>(order[j]);
      const T share = waiting[order[j]] / static_cast<T>(group.size());
      std::byte* entry = mine_.raw_bytes().data() + entry_bytes * static_cast<std::int64_t>(j);
      std::memcpy(entry, &share, sizeof share);
      std::memcpy(entry + sizeof share, &place, sizeof place);
      waiting[order[j]] = 0;
    }
    all_ = mine_.empty_like(mine_.numel() * group.size());
    work_ = group.all_gather_async(mine_, all_);
  }

  void wait() override {
    work_.wait();
    const auto result = gradient_.data<T>();
    std::ranges::fill(result, T(0));
    for (const std::byte* entry = all_.raw_bytes().data();
         entry != all_.raw_bytes().data() + all_.numel(); entry += entry_bytes) {
      T share;
      std::int32_t place = 0;
      std::memcpy(&share, entry, sizeof share);
      std::memcpy(&place, entry + sizeof share, sizeof place);
      result[static_cast<std::size_t>(place)] += share;
    }
  }

 private:
  static constexpr std::int64_t entry_bytes = sizeof(T) + 4;
  Tensor gradient_, mine_, all_;
  comm::Work work_;
};

}  // namespace

comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction) {
  residual.reduce_(gradient, ReduceOp::sum);
  const std::int64_t k = entries_of(gradient.numel(), fraction);
  if (k == 0) return {};
  if (gradient.dtype() == DType::float64) {
    return comm::Work(std::make_unique<Gathered<double>>(group, gradient, residual, k));
  }
  return comm::Work(std::make_unique<Gathered<float>>(group, gradient, residual, k));
}

}  // namespace lockstep::compress
