// As Horovod's own: each parameter has a number of passes that are still to come, and is handed
// over at 0. What is on its way is a set of names.
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"

namespace lockstep::horovod {
namespace {

class CountingOptimizer final : public DistributedOptimizer {
 public:
  CountingOptimizer(std::unique_ptr<optim::Optimizer> inner, comm::ProcessGroup& group,
                    const HorovodOptions& options, const QueueOptions& of_queue)
      : inner_(std::move(inner)), passes_(options.backward_passes_per_step) {
    for (Parameter* parameter : inner_->parameters()) {
      delay_.push_back(passes_);
      parameter->hooks.push_back(Hook{this, delay_.size() - 1});
    }
    queue_ = std::make_unique<ReductionQueue>(group, options.strands, of_queue);
  }
  ~CountingOptimizer() override {
    for (Parameter* parameter : inner_->parameters()) {
      std::erase_if(parameter->hooks, [&](const auto& hook) {
        const Hook* own = hook.template target<Hook>();
        return own != nullptr && own->optimizer == this;
      });
    }
  }
  CountingOptimizer(const CountingOptimizer&) = delete;
  CountingOptimizer& operator=(const CountingOptimizer&) = delete;

  void synchronize() override {
    if (reduced_) throw ContractError("the gradients are reduced already");
    for (std::size_t i = 0; i < delay_.size(); ++i) {
      if (!on_their_way_.contains(name(i))) submit(i);
    }
    queue_->wait();
    on_their_way_.clear();
    delay_.assign(delay_.size(), passes_);
    reduced_ = true;
  }
  void step() override {
    if (skips_ > 0) {
      require_rest("step");
    } else {
      synchronize();
    }
    inner_->step();
    reduced_ = false;
  }
  void zero_grad() override {
    require_rest("zero_grad");
    inner_->zero_grad();
  }
  void load_state(std::span<const optim::StateTensor> state) override {
    require_rest("load_state");
    inner_->load_state(state);
  }
  void set_backward_passes_per_step(std::int64_t passes) override {
    require_rest("set_backward_passes_per_step");
    passes_ = passes;
    delay_.assign(delay_.size(), passes_);
  }

  std::string_view kind() const override { return inner_->kind(); }
  double learning_rate() const override { return inner_->learning_rate(); }
  void set_learning_rate(double rate) override { inner_->set_learning_rate(rate); }
  std::span<Parameter* const> parameters() const override { return inner_->parameters(); }
  std::vector<optim::StateTensor> state() const override { return inner_->state(); }
  QueueFigures figures() const override { return queue_->figures(); }

 private:
  struct Hook {
    CountingOptimizer* optimizer;
    std::size_t index;
    void operator()(Parameter&) const { optimizer->came(index); }
  };

  const std::string& name(std::size_t i) const { return inner_->parameters()[i]->name; }

  void came(std::size_t i) {
    if (delay_[i] == 0) throw ContractError("more backward passes than backward_passes_per_step");
    reduced_ = false;
    if (--delay_[i] == 0) submit(i);
  }
  void submit(std::size_t i) {
    Parameter& one = *inner_->parameters()[i];
    if (!one.grad.defined()) {
      one.grad =
          empty(one.value.shape(), one.value.dtype(), one.value.device(), MemoryKind::gradients);
      one.grad.fill_(0);
    }
    on_their_way_.insert(one.name);
    queue_->submit(one.name, one.grad);
  }
  void require_rest(const std::string& call) const {
    for (const std::int64_t left : delay_) {
      if (left != passes_) throw ContractError(call + ": gradients may be on their way");
    }
  }

  std::unique_ptr<optim::Optimizer> inner_;
  std::int64_t passes_;
  std::vector<std::int64_t> delay_;
  std::set<std::string> on_their_way_;
  bool reduced_ = false;
  std::unique_ptr<ReductionQueue> queue_;
};

}  // namespace

std::unique_ptr<DistributedOptimizer> make_distributed_optimizer(
    std::unique_ptr<optim::Optimizer> optimizer, comm::ProcessGroup& group,
    const HorovodOptions& options) {
  QueueOptions of_queue;
  of_queue.threshold_bytes = options.fusion_threshold_bytes;
  of_queue.cycle_s = options.cycle_s;
  of_queue.stall_limit_s = options.stall_limit_s;
  of_queue.hook = options.hook;
  const double factor = options.gradient_predivide_factor;
  of_queue.prescale = options.combine == Combine::sum ? 1 : 1 / factor;
  of_queue.postscale = options.combine == Combine::sum ? 1 : factor / group.size();
  return std::make_unique<CountingOptimizer>(std::move(optimizer), group, options, of_queue);
}

}  // namespace lockstep::horovod
