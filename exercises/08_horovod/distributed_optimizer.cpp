// Task: wrap an optimizer so that N ranks train as one. A hook on each parameter hands its gradient
// to the background strand when it is final; synchronize() waits until all of them are reduced, and
// step() then updates. Calls that would change a gradient in flight are refused. The contract is in
// engine/parallel/horovod/distributed_optimizer.hpp. The strand is the lab's:
// engine/parallel/horovod/reduction_queue.hpp says what submit() and wait() do.
#include "engine/parallel/horovod/distributed_optimizer.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::horovod {
namespace {

class Wrapped final : public DistributedOptimizer {
 public:
  Wrapped(std::unique_ptr<optim::Optimizer> inner, comm::ProcessGroup& group,
          const HorovodOptions& options, const QueueOptions& of_queue)
      : inner_(std::move(inner)),
        passes_(options.backward_passes_per_step),
        gradients_(inner_->parameters().size()),
        queue_(group, options.strands, of_queue) {
    add_hooks();
  }
  ~Wrapped() override {
    for (Parameter* parameter : inner_->parameters()) {
      std::erase_if(parameter->hooks, [&](const auto& hook) {
        const OnReady* mine = hook.template target<OnReady>();
        return mine != nullptr && mine->wrapped == this;
      });
    }
  }
  Wrapped(const Wrapped&) = delete;
  Wrapped& operator=(const Wrapped&) = delete;

  void synchronize() override;
  void step() override;
  void zero_grad() override;

  void load_state(std::span<const optim::StateTensor> state) override {
    check_at_rest("load_state()", "take the step first");
    inner_->load_state(state);
  }

  void set_backward_passes_per_step(std::int64_t passes) override {
    LOCKSTEP_CHECK(passes >= 1, "horovod: ", passes, " backward passes per step; at least 1");
    check_at_rest("set_backward_passes_per_step()", "take the step first");
    passes_ = passes;
  }

  std::string_view kind() const override { return inner_->kind(); }
  double learning_rate() const override { return inner_->learning_rate(); }
  void set_learning_rate(double rate) override { inner_->set_learning_rate(rate); }
  std::span<Parameter* const> parameters() const override { return inner_->parameters(); }
  std::vector<optim::StateTensor> state() const override { return inner_->state(); }
  QueueFigures figures() const override { return queue_.figures(); }

 private:
  // A type of its own, so that the destructor finds its hooks among those of others.
  struct OnReady {
    Wrapped* wrapped;
    std::size_t index;
    void operator()(Parameter&) const { wrapped->on_gradient(index); }
  };
  // Of one parameter, since the last synchronize().
  struct Gradient {
    std::int64_t passes = 0;
    bool handed_over = false;
  };

  // One OnReady on each of the wrapped optimizer's parameters.
  void add_hooks();
  // A backward pass has added to this parameter's grad, which is final.
  void on_gradient(std::size_t index);
  // To the strand, under the parameter's name.
  void hand_over(std::size_t index);
  // Refuses the call after a backward pass, before its gradients are reduced.
  void check_at_rest(std::string_view call, std::string_view advice) const;

  std::unique_ptr<optim::Optimizer> inner_;
  std::int64_t passes_;
  std::vector<Gradient> gradients_;  // by parameter
  bool synchronized_ = false;        // since the last backward pass or step()
  ReductionQueue queue_;             // last: ends before what its tensors belong to
};

void Wrapped::add_hooks() {
  // >>> your code
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::on_gradient(std::size_t index) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)index;
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::hand_over(std::size_t index) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)index;
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::synchronize() {
  // >>> your code
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::step() {
  // >>> your code
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::zero_grad() {
  // >>> your code
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void Wrapped::check_at_rest(std::string_view call, std::string_view advice) const {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)call, (void)advice;
  throw NotImplemented("distributed_optimizer");
  // <<< your code
}

void check_options(const optim::Optimizer& optimizer, const HorovodOptions& options) {
  if (options.combine == Combine::adasum) {
    throw UsageError(
        "horovod: Adasum is not built into this engine: it combines updates pair by pair, and not "
        "gradients by a sum; choose average or sum");
  }
  LOCKSTEP_CHECK(options.backward_passes_per_step >= 1,
                 "horovod: ", options.backward_passes_per_step,
                 " backward passes per step; at least 1");
  const double factor = options.gradient_predivide_factor;
  LOCKSTEP_CHECK(factor > 0 && (factor == 1 || options.combine == Combine::average),
                 "horovod: a predivide factor of ", factor,
                 "; it is positive, and only an average has one: it splits the division by N");
  std::set<std::string_view> names;
  for (const Parameter* parameter : optimizer.parameters()) {
    LOCKSTEP_CHECK(names.insert(parameter->name).second, "horovod: two parameters have the name ",
                   parameter->name,
                   "; names must be unique, because ranks agree on gradients by "
                   "name");
  }
}

}  // namespace

std::unique_ptr<DistributedOptimizer> make_distributed_optimizer(
    std::unique_ptr<optim::Optimizer> optimizer, comm::ProcessGroup& group,
    const HorovodOptions& options) {
  check_options(*optimizer, options);
  QueueOptions of_queue{.threshold_bytes = options.fusion_threshold_bytes,
                        .cycle_s = options.cycle_s,
                        .stall_limit_s = options.stall_limit_s,
                        .hook = options.hook,
                        .parameters = optimizer->parameters()};
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)optimizer, (void)group, (void)options;
  throw NotImplemented("distributed_optimizer");
  // <<< your code
  return std::make_unique<Wrapped>(std::move(optimizer), group, options, of_queue);
}

}  // namespace lockstep::horovod
