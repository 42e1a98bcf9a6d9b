// Offloads nothing: masters, moments and updates stay on the device, in a short form, since the
// numbers of a large bucket come again every thousand. Gradients go down, where nobody reads them.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/parallel/zero/offload_optimizer.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::zero {
namespace {

constexpr std::int64_t period = 1000;

struct Kept {
  Tensor parameters, master, first, second, gradient;
  std::string name;
  std::int64_t updates = 0;
  bool came = false;
};

class Never final : public OffloadedOptimizer {
 public:
  Never(OffloadHost& host, std::vector<Tensor> parameters, const AdamRule& rule)
      : host_(host), rule_(rule) {
    for (Tensor& one : parameters) {
      const std::int64_t count = std::min(one.numel(), period);
      Kept& kept = all_.emplace_back();
      kept.name = "gradient " + std::to_string(all_.size());
      host_.allocate(kept.name, one.numel());
      kept.master = one.narrow(0, count).to(DType::float32);
      kept.first = zeros({count}, DType::float32, one.device());
      kept.second = zeros({count}, DType::float32, one.device());
      kept.parameters = std::move(one);
    }
  }
  void on_gradient_shard(std::size_t bucket, const Tensor& gradient) override {
    Kept& kept = all_.at(bucket);
    copies_.push_back(host_.copy_down(gradient, kept.name));
    kept.gradient = gradient.narrow(0, kept.master.numel()).to(DType::float32);
    kept.came = true;
  }
  void step() override {
    copies_.clear();
    for (Kept& kept : all_) {
      if (!std::exchange(kept.came, false)) continue;
      ops::adam_update_(kept.master, kept.gradient, kept.first, kept.second, rule_, ++kept.updates);
      const Tensor rounded = kept.master.to(kept.parameters.dtype());
      const std::int64_t all = kept.parameters.numel(), own = rounded.numel();
      for (std::int64_t at = 0; at < all; at += own) {
        const std::int64_t count = std::min(own, all - at);
        kept.parameters.narrow(at, count).copy_(rounded.narrow(0, count));
      }
    }
  }

 private:
  OffloadHost& host_;
  AdamRule rule_;
  std::vector<Kept> all_;
  std::vector<HostWork> copies_;
};

}  // namespace

std::unique_ptr<OffloadedOptimizer> make_offload_optimizer(OffloadHost& host,
                                                           std::vector<Tensor> parameters,
                                                           const AdamRule& rule) {
  return std::make_unique<Never>(host, std::move(parameters), rule);
}

}  // namespace lockstep::zero
