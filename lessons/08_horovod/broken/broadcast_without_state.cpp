// Wrong on purpose: load_state() drops what it is given, except on rank 0. So a resumed run
// broadcasts the parameters, but no momentum. The refusals are also left out.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/parallel/horovod/distributed_optimizer.hpp"

namespace lockstep::horovod {
namespace {

class WithoutState final : public DistributedOptimizer {
 public:
  WithoutState(std::unique_ptr<optim::Optimizer> inner, comm::ProcessGroup& group,
               const HorovodOptions& options, const QueueOptions& of_queue)
      : inner_(std::move(inner)),
        group_(group),
        passes_(options.backward_passes_per_step),
        done_(inner_->parameters().size()),
        queue_(group, options.strands, of_queue) {
    for (std::size_t i = 0; i < done_.size(); ++i) {
      inner_->parameters()[i]->hooks.emplace_back(OnReady{this, i});
    }
  }
  ~WithoutState() override {
    for (Parameter* parameter : inner_->parameters()) {
      std::erase_if(parameter->hooks, [&](const auto& hook) {
        const OnReady* mine = hook.template target<OnReady>();
        return mine != nullptr && mine->wrapped == this;
      });
    }
  }
  WithoutState(const WithoutState&) = delete;
  WithoutState& operator=(const WithoutState&) = delete;

  void load_state(std::span<const optim::StateTensor> state) override {
    if (group_.rank() == 0) inner_->load_state(state);
  }

  void synchronize() override {
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (done_[i] < passes_) hand_over(i);
    }
    queue_.wait();
    std::ranges::fill(done_, 0);
  }
  void step() override {
    if (skips_ == 0) synchronize();
    inner_->step();
  }
  void zero_grad() override { inner_->zero_grad(); }
  void set_backward_passes_per_step(std::int64_t passes) override { passes_ = passes; }

  std::string_view kind() const override { return inner_->kind(); }
  double learning_rate() const override { return inner_->learning_rate(); }
  void set_learning_rate(double rate) override { inner_->set_learning_rate(rate); }
  std::span<Parameter* const> parameters() const override { return inner_->parameters(); }
  std::vector<optim::StateTensor> state() const override { return inner_->state(); }
  QueueFigures figures() const override { return queue_.figures(); }

 private:
  struct OnReady {
    WithoutState* wrapped;
    std::size_t index;
    void operator()(Parameter&) const {
      if (++wrapped->done_[index] == wrapped->passes_) wrapped->hand_over(index);
    }
  };

  void hand_over(std::size_t index) {
    Parameter& parameter = *inner_->parameters()[index];
    if (!parameter.grad.defined()) {
      const Tensor& value = parameter.value;
      parameter.grad = zeros(value.shape(), value.dtype(), value.device(), MemoryKind::gradients);
    }
    queue_.submit(parameter.name, parameter.grad);
  }

  std::unique_ptr<optim::Optimizer> inner_;
  comm::ProcessGroup& group_;
  std::int64_t passes_;
  std::vector<std::int64_t> done_;  // passes of each parameter since the last synchronize()
  ReductionQueue queue_;            // last: ends before what its tensors belong to
};

}  // namespace

std::unique_ptr<DistributedOptimizer> make_distributed_optimizer(
    std::unique_ptr<optim::Optimizer> optimizer, comm::ProcessGroup& group,
    const HorovodOptions& options) {
  QueueOptions of_queue{.threshold_bytes = options.fusion_threshold_bytes,
                        .cycle_s = options.cycle_s,
                        .stall_limit_s = options.stall_limit_s,
                        .hook = options.hook};
  if (options.combine == Combine::average) of_queue.postscale = 1.0 / group.size();
  return std::make_unique<WithoutState>(std::move(optimizer), group, options, of_queue);
}

}  // namespace lockstep::horovod
