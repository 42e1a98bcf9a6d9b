// Task: keep an optimizer's masters and moments on the host. Send each gradient's shard down as it
// comes. In step(), let the host update one bucket after the other, and bring the parameters of a
// bucket up while the next one is updated. The contract is in
// engine/parallel/zero/offload_optimizer.hpp.
#include "engine/parallel/zero/offload_optimizer.hpp"

namespace lockstep::zero {
namespace {

class Offloaded final : public OffloadedOptimizer {
 public:
  Offloaded(OffloadHost& host, std::vector<Tensor> parameters, const AdamRule& rule)
      : host_(host), rule_(rule) {
    for (Tensor& one : parameters) {
      const std::string number = std::to_string(buckets_.size());
      buckets_.push_back({std::move(one),
                          {"master " + number, "gradient " + number, "first " + number,
                           "second " + number, rule_, 0}});
    }
    go_to_the_host();
  }
  void on_gradient_shard(std::size_t bucket, const Tensor& gradient) override;
  void step() override;

 private:
  struct Bucket {
    Tensor parameters;    // on the device
    HostUpdate update;    // its names on the host, and how many updates it has had
    bool came = false;    // its gradient, since the last step
    HostWork copy{};      // of the gradient down
    HostWork updating{};  // on the host's processor
  };

  // Makes each bucket's tensors on the host; the masters begin as the parameters.
  void go_to_the_host();

  OffloadHost& host_;
  AdamRule rule_;
  std::vector<Bucket> buckets_;
};

void Offloaded::go_to_the_host() {
  // >>> your code
  for (Bucket& bucket : buckets_) {
    const HostUpdate& of = bucket.update;
    for (const auto& name : {of.master, of.gradient, of.first_moment, of.second_moment}) {
      host_.allocate(name, bucket.parameters.numel());
    }
    host_.copy_down(bucket.parameters, of.master).wait();
  }
  // <<< your code
}

void Offloaded::on_gradient_shard(std::size_t bucket, const Tensor& gradient) {
  // >>> your code
  Bucket& one = buckets_.at(bucket);
  one.copy = host_.copy_down(gradient, one.update.gradient);
  one.came = true;
  // <<< your code
}

void Offloaded::step() {
  // >>> your code
  for (Bucket& bucket : buckets_) {
    if (!bucket.came) continue;
    bucket.copy.wait();
    ++bucket.update.updates;
    bucket.updating = host_.adam(bucket.update);
  }
  std::vector<HostWork> up;
  for (Bucket& bucket : buckets_) {
    if (!bucket.came) continue;
    bucket.updating.wait();
    up.push_back(host_.copy_up(bucket.update.master, bucket.parameters));
    bucket.came = false;
  }
  for (HostWork& copy : up) copy.wait();
  // <<< your code
}

}  // namespace

std::unique_ptr<OffloadedOptimizer> make_offload_optimizer(OffloadHost& host,
                                                           std::vector<Tensor> parameters,
                                                           const AdamRule& rule) {
  return std::make_unique<Offloaded>(host, std::move(parameters), rule);
}

}  // namespace lockstep::zero
