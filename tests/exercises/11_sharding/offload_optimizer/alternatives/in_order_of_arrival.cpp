// Buckets are updated in the order in which their gradients came, and one loop starts whatever can
// be started: the update of a bucket, then the copy up of the one before it. Names and counts are
// apart from the buckets.
#include <map>

#include "engine/parallel/zero/offload_optimizer.hpp"

namespace lockstep::zero {
namespace {

class Queue final : public OffloadedOptimizer {
 public:
  Queue(OffloadHost& host, std::vector<Tensor> parameters, const AdamRule& rule)
      : host_(host), parameters_(std::move(parameters)), rule_(rule) {
    std::vector<HostWork> first;
    for (std::size_t b = 0; b < parameters_.size(); ++b) {
      for (const char* kind : {"p", "g", "m", "v"}) {
        host_.allocate(name(kind, b), parameters_[b].numel());
      }
      first.push_back(host_.copy_down(parameters_[b], name("p", b)));
    }
    for (HostWork& copy : first) copy.wait();
  }

  void on_gradient_shard(std::size_t bucket, const Tensor& gradient) override {
    std::erase_if(came_, [&](const auto& one) { return one.first == bucket; });
    came_.emplace_back(bucket, host_.copy_down(gradient, name("g", bucket)));
  }

  void step() override {
    std::vector<std::pair<std::size_t, HostWork>> updates;
    for (auto& [bucket, copy] : came_) {
      copy.wait();
      updates.emplace_back(bucket,
                           host_.adam({name("p", bucket), name("g", bucket), name("m", bucket),
                                       name("v", bucket), rule_, ++counts_[bucket]}));
    }
    came_.clear();
    std::vector<HostWork> up;
    for (auto& [bucket, update] : updates) {
      update.wait();
      up.push_back(host_.copy_up(name("p", bucket), parameters_[bucket]));
    }
    for (auto copy = up.rbegin(); copy != up.rend(); ++copy) copy->wait();
  }

 private:
  static std::string name(const std::string& kind, std::size_t bucket) {
    return kind + std::to_string(bucket);
  }

  OffloadHost& host_;
  std::vector<Tensor> parameters_;
  AdamRule rule_;
  std::vector<std::pair<std::size_t, HostWork>> came_;
  std::map<std::size_t, std::int64_t> counts_;
};

}  // namespace

std::unique_ptr<OffloadedOptimizer> make_offload_optimizer(OffloadHost& host,
                                                           std::vector<Tensor> parameters,
                                                           const AdamRule& rule) {
  return std::make_unique<Queue>(host, std::move(parameters), rule);
}

}  // namespace lockstep::zero
