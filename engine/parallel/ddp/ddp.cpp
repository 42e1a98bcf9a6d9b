#include "engine/parallel/ddp/ddp.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/replicas/agree.hpp"

namespace lockstep::ddp {
namespace {

using collectives::BucketPlan;

std::vector<ParamInfo> infos_of(const std::vector<Parameter*>& parameters) {
  std::vector<ParamInfo> infos;
  for (const Parameter* parameter : parameters) {
    infos.push_back({parameter->value.numel(), parameter->value.dtype()});
  }
  return infos;
}

// Gradients come roughly in the opposite order of registration, hence the last bucket goes first.
BucketPlan plan_of_registration(const std::vector<Parameter*>& parameters,
                                const BucketLimits& limits) {
  BucketPlan plan = assign_buckets(infos_of(parameters), limits);
  std::ranges::sort(plan.buckets, std::greater{},
                    [](const auto& bucket) { return bucket.front(); });
  return plan;
}

void broadcast_buffers(comm::ProcessGroup& group, nn::Module& module, int root) {
  std::vector<comm::Work> works;
  for (const nn::Buffer* buffer : module.buffers()) {
    works.push_back(group.broadcast_async(buffer->value, root));
  }
  for (comm::Work& work : works) work.wait();
}

constexpr BucketLimits no_limits{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::max()};

}  // namespace

// A type of its own, so that the Ddp finds its hooks again among those of others.
struct Ddp::OnReady {
  Ddp* ddp;
  std::size_t index;
  void operator()(Parameter&) const { ddp->on_ready(index); }
};

Ddp::Ddp(nn::Module& module, comm::ProcessGroup& group, const Options& options)
    : module_(module),
      group_(group),
      options_(options),
      parameters_(module.parameters()),
      sum_(collectives::make_sum_hook()),
      average_(collectives::make_average_hook()),
      divisor_(group.size()) {
  LOCKSTEP_CHECK(!parameters_.empty(), "ddp: the module has no parameters; nothing to train");
  replicas::make_equal(group_, module_);
  build(plan_of_registration(parameters_,
                             options_.unused == Unused::reduce ? options_.limits : no_limits));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->hooks.emplace_back(OnReady{this, i});
  }
}

Ddp::~Ddp() {
  for (Parameter* parameter : parameters_) {
    std::erase_if(parameter->hooks, [&](const auto& hook) {
      const OnReady* mine = hook.template target<OnReady>();
      return mine != nullptr && mine->ddp == this;
    });
  }
}

void Ddp::build(BucketPlan plan) {
  reducer_.reset();  // its buckets go before the new ones come
  plan_ = std::move(plan);
  collectives::CommHook& hook = options_.hook != nullptr ? *options_.hook
                                : averages_within()      ? *average_
                                                         : *sum_;
  timed_ = collectives::make_timed_hook(hook, communication_);
  // A hook that averages divides by the group's size itself.
  const double ranks = &hook != sum_.get() ? group_.size() : 1;
  const double share = ranks / divisor_;
  reducer_ = make_bucketed_reducer(group_, parameters_, plan_, {share, timed_.get()});
}

// True if the backend divides by the right number, so no scaling pass is needed.
bool Ddp::averages_within() const {
  const Device& device = parameters_.front()->value.device();
  return divisor_ == group_.size() && group_.averaging(device) == comm::Averaging::within;
}

// From now on every rank knows rank 0's order.
void Ddp::agree_on_order() {
  const Tensor order = empty({std::ssize(ready_order_)}, DType::int64, device_);
  std::ranges::copy(ready_order_, order.data<std::int64_t>().begin());
  group_.broadcast(order, 0);
  std::ranges::copy(order.data<std::int64_t>(), ready_order_.begin());
  order_ = Order::known;
}

void Ddp::build_in_ready_order() {
  std::vector<Parameter*> in_order;
  for (const std::size_t index : ready_order_) in_order.push_back(parameters_.at(index));
  BucketPlan plan = assign_buckets(infos_of(in_order), options_.limits);
  for (auto& bucket : plan.buckets) {
    for (std::size_t& place : bucket) place = ready_order_[place];
  }
  build(std::move(plan));
  order_ = Order::used;
}

Value Ddp::forward(Tape& tape, const Value& input) {
  // Under no_sync, too: a grad that is made from now on lies in the bucket it will travel in.
  if (tape.mode() == GradMode::record && order_ == Order::known && pass_ == Pass::none) {
    build_in_ready_order();
  }
  if (tape.mode() == GradMode::record && unsynced_ == 0) arm(tape);
  const StepHooks& steps = options_.steps;
  if (steps.before_forward) steps.before_forward(input);
  if (steps.on_backward) {
    tape.watch({[&steps](std::span<Parameter* const>) { steps.on_backward(); }, [] {}});
  }
  return module_.forward(tape, input);
}

void Ddp::arm(Tape& tape) {
  LOCKSTEP_CHECK(pass_ == Pass::none, "ddp: ", group_.own_name(), " calls forward, but step ",
                 passes_, " is not over: its backward was left by an exception, or is running");
  spread_buffers(Part::trains);
  tape.watch({[this](std::span<Parameter* const> reached) { begin_pass(reached); },
              [this] {
                if (pass_ != Pass::running) return;
                end_pass();
                if (options_.steps.before_update) options_.steps.before_update();
              }});
}

// Rank 0 has all inputs, or may have run out of them.
void Ddp::spread_buffers(Part mine) {
  if (options_.buffers == Buffers::local || group_.size() == 1) return;
  int root = 0;
  if (options_.inputs == Inputs::uneven && !module_.buffers().empty()) {
    const Tensor largest = full({1}, mine == Part::trains ? group_.rank() : -1, DType::int64,
                                parameters_.front()->value.device().host());
    group_.all_reduce(largest, ReduceOp::max);
    root = static_cast<int>(largest.item());
  }
  broadcast_buffers(group_, module_, root);
}

void Ddp::shadow() {
  LOCKSTEP_CHECK(options_.inputs == Inputs::uneven, "ddp: ", group_.own_name(),
                 " shadows a pass, but the ranks were said to have equally many inputs; make the "
                 "Ddp with Inputs::uneven (--join)");
  LOCKSTEP_CHECK(pass_ == Pass::none && unsynced_ == 0, "ddp: ", group_.own_name(),
                 " shadows a pass while its own pass ", passes_,
                 " is running, or under no_sync; only passes that are reduced are shadowed");
  LOCKSTEP_CHECK(options_.unused != Unused::fixed, "ddp: ", group_.own_name(),
                 " shadows a pass, which uses no parameter, but with Unused::fixed each pass uses "
                 "what the first one did; leave out --static-graph or --join");
  if (order_ == Order::known) build_in_ready_order();
  spread_buffers(Part::shadows);
  for (Parameter* parameter : parameters_) parameter->grad = {};
  const Tensor& any = parameters_.front()->value;
  report(zeros({1}, any.dtype(), any.device()));
  const bool searches = options_.unused == Unused::reduce;
  begin_pass(searches ? std::span<Parameter* const>() : parameters_);
  if (!searches) {
    for (std::size_t i = parameters_.size(); i > 0; --i) on_ready(i - 1);
  }
  end_pass();
}

void Ddp::divide_by(int ranks) {
  LOCKSTEP_CHECK(ranks >= 1 && ranks <= group_.size(),
                 "ddp: the sum of gradients cannot be divided ", "by ", ranks, " of ",
                 group_.size(), " ranks; pass 1 to ", group_.size());
  LOCKSTEP_CHECK(pass_ == Pass::none, "ddp: divide_by(", ranks, ") on ", group_.own_name(),
                 " while pass ", passes_, " is running; call it between passes");
  if (ranks == divisor_) return;
  divisor_ = ranks;
  build(BucketPlan(plan_));
}

// A module that runs twice on one tape armed it twice; the pass is one all the same.
void Ddp::begin_pass(std::span<Parameter* const> reached) {
  if (pass_ == Pass::running) return;
  pass_ = Pass::running;
  ++passes_;
  communication_ = {};
  lacking_.clear();
  if (order_ == Order::unknown) ready_order_.clear();  // what a pass with an error left
  std::vector<const Parameter*> sorted(reached.begin(), reached.end());
  std::ranges::sort(sorted);
  std::vector<std::uint8_t> used;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    used.push_back(std::ranges::binary_search(sorted, parameters_[i]) ? 1 : 0);
    if (used.back() == 0) lacking_.push_back(i);
  }
  if (options_.unused == Unused::fixed) look_for_changes(used);
  start_status();  // before any bucket, on every rank
  if (options_.unused == Unused::reduce) {
    unused_pass_ = begin_with_unused(group_, *reducer_, parameters_, used);
    return;
  }
  for (const std::size_t index : lacking_) on_ready(index);
}

void Ddp::look_for_changes(std::span<const std::uint8_t> used) {
  if (first_used_.empty()) first_used_.assign(used.begin(), used.end());
  changed_.clear();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] != first_used_[i]) changed_.push_back(i);
  }
  kept_.clear();
  for (const std::size_t i : lacking_) {
    const Tensor& grad = parameters_[i]->grad;
    kept_.push_back(grad.defined() ? grad.clone(MemoryKind::gradients) : Tensor());
  }
}

// How many parameters lack, or how many changed, summed, unless they may; in the first pass of a
// graph that is fixed, who uses each; then the loss, where one was reported.
void Ddp::start_status() {
  std::vector<double> numbers;
  if (options_.unused == Unused::refuse) numbers.push_back(static_cast<double>(lacking_.size()));
  if (options_.unused == Unused::fixed) {
    numbers.push_back(static_cast<double>(changed_.size()));
    if (first_users_.empty()) numbers.insert(numbers.end(), first_used_.begin(), first_used_.end());
  }
  loss_travels_ = loss_.has_value();
  if (loss_) numbers.push_back(*loss_ / static_cast<double>(group_.size()));
  loss_.reset();
  status_ = {};
  if (numbers.empty()) return;
  status_ = from_values(numbers, {std::ssize(numbers)}, DType::float64,
                        parameters_.front()->value.device().host());
  status_work_ = group_.all_reduce_async(status_, ReduceOp::sum);
}

void Ddp::on_ready(std::size_t index) {
  if (pass_ != Pass::running) return;  // made under no_sync
  if (order_ == Order::unknown) ready_order_.push_back(index);
  reducer_->on_gradient_ready(index);
}

void Ddp::end_pass() {
  if (pass_ != Pass::running) return;
  reducer_->finalize();
  if (status_.defined()) status_work_.wait();
  pass_ = Pass::none;
  std::vector<double> numbers;
  if (status_.defined() && status_.device().has_numbers()) {
    const auto summed = status_.data<double>();
    numbers.assign(summed.begin(), summed.end());
  }
  if (loss_travels_) {
    const double mean = numbers.empty() ? std::numeric_limits<double>::quiet_NaN() : numbers.back();
    if (!numbers.empty()) numbers.pop_back();
    mean_loss_ = mean_loss_.value_or(0) + mean;
  }
  if (options_.unused == Unused::reduce) {
    end_with_unused(std::move(unused_pass_), parameters_);
    return;
  }
  if (options_.unused == Unused::fixed) {
    keep_what_none_uses(numbers);
  } else if (!numbers.empty() && numbers[0] > 0) {
    throw_lacking();
  }
  if (order_ == Order::unknown) agree_on_order();
}

// `numbers` as start_status made them, summed, without the loss; none on a device without numbers.
void Ddp::keep_what_none_uses(std::span<const double> numbers) {
  if (numbers.empty()) {
    first_users_.assign(first_used_.begin(), first_used_.end());
  } else if (first_users_.empty()) {
    first_users_.assign(numbers.begin() + 1, numbers.end());
  }
  if (!numbers.empty() && numbers[0] > 0) throw_changed();
  for (std::size_t k = 0; k < lacking_.size(); ++k) {
    const std::size_t i = lacking_[k];
    if (first_users_[i] == 0) parameters_[i]->grad = std::move(kept_[k]);
  }
  kept_.clear();
}

void Ddp::report(const Tensor& loss) {
  if (loss.device().numbers() == Numbers::away) {
    const Tensor wide = loss.to(DType::float64);
    if (far_loss_.defined()) wide.reduce_(far_loss_, ReduceOp::sum);
    far_loss_ = wide;
    return;
  }
  const bool readable = loss.device().has_numbers();
  loss_ = loss_.value_or(0) + (readable ? loss.item() : std::numeric_limits<double>::quiet_NaN());
}

double Ddp::mean_loss() {
  if (far_loss_.defined()) {
    const Tensor mean = full({1}, number_of(far_loss_) / group_.size(), DType::float64, device_);
    far_loss_ = {};
    group_.all_reduce(mean, ReduceOp::sum);
    mean_loss_ = mean.item();
  }
  LOCKSTEP_CHECK(mean_loss_.has_value(), "ddp: no loss was reported for step ", passes_,
                 "; call report before each backward, with that micro-batch's share of the loss");
  return *std::exchange(mean_loss_, std::nullopt);
}

// The finding of the first rank, among all, that has found such parameters: how many there are, and
// the first of them.
struct Ddp::Found {
  int rank = 0;
  std::int64_t count = 0;
  std::size_t parameter = 0;
};

Ddp::Found Ddp::first_of_ranks(const std::vector<std::size_t>& mine_found) {
  const Tensor mine = empty({2}, DType::int64, device_);
  const Tensor all = empty({2 * group_.size()}, DType::int64, device_);
  mine.data<std::int64_t>()[0] = std::ssize(mine_found);
  mine.data<std::int64_t>()[1] =
      mine_found.empty() ? 0 : static_cast<std::int64_t>(mine_found.front());
  group_.all_gather(mine, all);
  Found found;
  while (all.item(2 * found.rank) == 0) ++found.rank;
  found.count = static_cast<std::int64_t>(all.item(2 * found.rank));
  found.parameter = static_cast<std::size_t>(all.item(2 * found.rank + 1));
  return found;
}

void Ddp::throw_lacking() {
  const Found found = first_of_ranks(lacking_);
  throw Error(text("ddp: parameter ", parameters_.at(found.parameter)->name,
                   " got no gradient in step ", passes_, " on ", group_.names().name(found.rank),
                   found.count > 1 ? text(" (nor did ", found.count - 1, " more there)") : "",
                   ": that loss does not depend on it, so there is nothing to average. If ranks "
                   "may leave parameters out, pass Unused::reduce (--find-unused); else look why "
                   "the forward pass left it out"));
}

void Ddp::throw_changed() {
  const Found found = first_of_ranks(changed_);
  throw Error(text("ddp: the graph changed: in step ", passes_, ", parameter ",
                   parameters_.at(found.parameter)->name, " is not used as in step 1 on ",
                   group_.names().name(found.rank),
                   found.count > 1 ? text(" (nor are ", found.count - 1, " more)") : "",
                   ": it got a gradient in one of the two steps and none in the other. "
                   "Unused::fixed (--static-graph) keeps what the first step used; if that may "
                   "change, pass Unused::reduce (--find-unused)"));
}

}  // namespace lockstep::ddp
