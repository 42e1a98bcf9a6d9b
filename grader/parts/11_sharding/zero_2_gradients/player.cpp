// Plays zero_2_gradients: backward passes whose gradients the judge makes, event by event.
#include "grader/parts/11_sharding/zero_2_gradients/case.hpp"

#include "engine/parallel/zero/zero_2_gradients.hpp"
#include "grader/play/sharded_play.hpp"

namespace lockstep::grader {
namespace {

class DrivenShards {
 public:
  DrivenShards(comm::ProcessGroup& group, const Zero2Case& c, std::vector<Parameter*> parameters,
               Device& device, sim::Port& port)
      : parameters_(parameters),
        buckets_(c.plan.buckets.size()),
        moments_(device, port),
        part_(zero::make_zero_2_gradients(group, std::move(parameters), c.plan, c.cuts, c.sums)) {
    moments_.is_made();
  }

  void take(std::size_t index) {
    if (index == 0) part_->zero_grad();
  }
  void on_gradient_ready(std::size_t index) {
    moments_.call([&] { part_->on_gradient_ready(index); });
    auto& now = report.grads.emplace_back();
    for (const Parameter* parameter : parameters_) now.push_back(parameter->grad.defined() ? 1 : 0);
  }
  void finalize() {
    moments_.call([&] { part_->finalize(); });
    Zero2Sums& now = report.after.emplace_back();
    for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
      const Tensor sum = part_->sum(bucket);
      now.sums.push_back(sum.defined() ? copy_of(sum) : Bytes{});
      now.dtypes.push_back(sum.defined() ? sum.dtype() : DType::float32);
    }
    for (const Parameter* parameter : parameters_) now.grads_left += parameter->grad.defined();
  }
  void remake() {}

  Zero2Report report;

 private:
  std::vector<Parameter*> parameters_;
  std::size_t buckets_;
  Moments moments_;
  std::unique_ptr<zero::ShardedGradients> part_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<Zero2Case>(
      played, [](comm::ProcessGroup& group, const Zero2Case& c, Device& device, sim::Port& port) {
        const HeldParameters held(c.parameters, device);
        DrivenShards shards(group, c, held.list(), device, port);
        drive(port, held, shards);
        return std::move(shards.report);
      });
}

}  // namespace lockstep::grader
