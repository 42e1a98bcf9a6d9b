// Elements one by one, each scaled as a double, and a Pending of its own.
#include <memory>
#include <utility>
#include <vector>

#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/random_k.hpp"

namespace lockstep::compress {
namespace {

class PutBack final : public comm::Pending {
 public:
  PutBack(comm::ProcessGroup& group, Tensor gradient, std::vector<std::int64_t> places)
      : gradient_(std::move(gradient)), places_(std::move(places)) {
    const auto k = std::ssize(places_);
    const double factor =
        static_cast<double>(gradient_.numel()) / static_cast<double>(k * group.size());
    std::vector<double> values;
    for (const std::int64_t place : places_) values.push_back(factor * gradient_.item(place));
    sums_ = from_values(values, {k}, gradient_.dtype(), gradient_.device());
    work_ = group.all_reduce_async(sums_, ReduceOp::sum);
  }
  void wait() override {
    work_.wait();
    gradient_.fill_(0);
    for (std::size_t j = 0; j < places_.size(); ++j) {
      gradient_.narrow(places_[j], 1).copy_(sums_.narrow(static_cast<std::int64_t>(j), 1));
    }
  }

 private:
  Tensor gradient_, sums_;
  std::vector<std::int64_t> places_;
  comm::Work work_;
};

}  // namespace

comm::Work random_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, std::int64_t k,
                           std::uint64_t step_seed) {
  if (k == 0) return {};
  return comm::Work(
      std::make_unique<PutBack>(group, gradient, random_entries(gradient.numel(), k, step_seed)));
}

}  // namespace lockstep::compress
