#include "engine/train/strategies/plain_zero_1.hpp"

#include "engine/parallel/zero/zero_1_optimizer.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/train/strategies/plain_whole.hpp"

namespace lockstep::train {
namespace {

using optim::StateTensor;
using zero::ShardedModel;

// A range of the rank: those of all units, one after the other.
struct OwnedRanges {
  std::vector<ShardedModel::Owned*> owned{};  // in the order of the plan's pieces
  std::vector<std::int64_t> offsets{};        // of each, in the range
  DType dtype{};
  Device* device = nullptr;

  // Calls visit(owned, its elements of `range`) for each.
  void visit(const Tensor& range, const auto& visitor) const {
    for (std::size_t k = 0; k < owned.size(); ++k) {
      visitor(*owned[k], range.narrow(offsets[k], owned[k]->end - owned[k]->begin));
    }
  }
};

// The part as an optimizer. Its state has the names of Adam's (optim/optimizer.hpp), and views of
// the part's moments.
class OwnersAdam final : public optim::Optimizer {
 public:
  using Make = std::function<std::unique_ptr<zero::Zero1Optimizer>(zero::AdamShard)>;

  OwnersAdam(const optim::OptimizerSpec& spec, OwnedRanges ranges, std::int64_t shard, Make make)
      : spec_(spec),
        ranges_(std::move(ranges)),
        shard_(shard),
        make_(std::move(make)),
        rate_(spec.learning_rate()) {
    for (ShardedModel::Owned* one : ranges_.owned) parameters_.push_back(&one->parameter);
  }

  // Has the next steps call `does` before their updates.
  void before_update(zero::BeforeUpdate does) { before_update_ = std::move(does); }

  std::string_view kind() const override { return name_of(spec_.kind); }
  void step() override {
    if (part_ == nullptr) part_ = make_(zeroed());
    part_->step(rate_, before_update_);
    ++updates_;
  }
  void zero_grad() override {
    for (Parameter* parameter : parameters_) parameter->grad = {};
  }
  double learning_rate() const override { return rate_; }
  void set_learning_rate(double rate) override { rate_ = rate; }
  std::span<Parameter* const> parameters() const override { return parameters_; }

  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> all;
    if (updates_ == 0) return all;
    const zero::AdamShard shard = part_->state();
    const Tensor steps =
        written_by_host({}, DType::int64, *ranges_.device, MemoryKind::optimizer_state,
                        [&](const Tensor& to) { to.data<std::int64_t>()[0] = updates_; });
    const auto add = [&](const Tensor& moments, const char* name) {
      ranges_.visit(moments, [&](const ShardedModel::Owned& one, const Tensor& mine) {
        all.push_back({one.parameter.name + name, mine});
      });
    };
    for (const Parameter* parameter : parameters_)
      all.push_back({parameter->name + ".step", steps});
    add(shard.first, ".exp_avg");
    add(shard.second, ".exp_avg_sq");
    return all;
  }

  void load_state(std::span<const StateTensor> state) override {
    const auto reader = optim::make_optimizer(spec_, parameters_);
    reader->load_state(state);
    zero::AdamShard shard = zeroed();
    std::map<std::string, Tensor> read;
    for (const StateTensor& one : reader->state()) read.emplace(one.name, one.value);
    const auto take = [&](const Tensor& moments, const char* name) {
      ranges_.visit(moments, [&](const ShardedModel::Owned& one, const Tensor& mine) {
        const auto found = read.find(one.parameter.name + name);
        if (found != read.end()) mine.copy_(found->second);
      });
    };
    take(shard.first, ".exp_avg");
    take(shard.second, ".exp_avg_sq");
    shard.updates = updates_in(read);
    updates_ = shard.updates;
    part_ = make_(std::move(shard));
  }

 private:
  zero::AdamShard zeroed() const {
    const auto moments = [&] {
      return zeros({shard_}, ranges_.dtype, *ranges_.device, MemoryKind::optimizer_state);
    };
    return {moments(), moments(), 0};
  }

  // One number for all parameters. A rank without any has no use for it.
  std::int64_t updates_in(const std::map<std::string, Tensor>& read) const {
    std::int64_t updates = 0;
    const Parameter* first = nullptr;
    for (const Parameter* parameter : parameters_) {
      const auto found = read.find(parameter->name + ".step");
      const bool known = found != read.end() && found->second.device().has_numbers();
      const auto seen = known                 ? static_cast<std::int64_t>(number_of(found->second))
                        : found != read.end() ? 1
                                              : 0;
      if (first != nullptr && seen != updates) {
        throw UsageError(text("optimizer state: ", first->name, " has had ", updates,
                              " updates and ", parameter->name, " ", seen,
                              ", but the part of ZeRO 1 counts them for all parameters together; "
                              "leave --no-overlap out to go on from here"));
      }
      first = parameter;
      updates = seen;
    }
    return updates;
  }

  optim::OptimizerSpec spec_;
  OwnedRanges ranges_;
  std::int64_t shard_;  // elements of the range, padding included
  Make make_;
  double rate_;
  std::int64_t updates_ = 0;  // of the part
  std::vector<Parameter*> parameters_;
  zero::BeforeUpdate before_update_;
  std::unique_ptr<zero::Zero1Optimizer> part_;  // from the first step on
};

class PlainZero1 final : public WholeParameters {
 public:
  PlainZero1(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
             zero::ShardGroups groups)
      : WholeParameters(spec, seed, device, groups) {
    std::size_t before = 0;  // parameters of the units before
    plan_.ranks.resize(static_cast<std::size_t>(shards_->size()));
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      const zero::FlatShards& cut = units_[unit].cut;
      for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
        for (zero::ShardPiece piece : cut.ranks[rank]) {
          piece.parameter += before;
          piece.offset += plan_.shard;
          plan_.ranks[rank].push_back(piece);
        }
      }
      starts_.push_back(plan_.shard);
      plan_.count += cut.count;
      plan_.shard += cut.shard;
      before += units_[unit].parameters.size();
    }
  }

  std::unique_ptr<optim::Optimizer> make_optimizer(const optim::OptimizerSpec& spec) override {
    const bool adam = spec.kind != optim::OptimizerKind::sgd;
    if (!adam) {
      throw UsageError(
          "the part of ZeRO 1 is Adam's; pass --optimizer adamw, or leave --no-overlap out");
    }
    const AdamRule rule{.beta1 = spec.adam.beta1,
                        .beta2 = spec.adam.beta2,
                        .epsilon = spec.adam.epsilon,
                        .weight_decay = spec.adam.weight_decay,
                        .decay_form = spec.kind == optim::OptimizerKind::adam
                                          ? DecayForm::coupled
                                          : DecayForm::decoupled};
    OwnedRanges ranges{.dtype = spec_.dtype, .device = &device_};
    ranges.owned = owned();
    for (const zero::ShardPiece& piece : plan_.ranks[rank_]) ranges.offsets.push_back(piece.offset);
    return std::make_unique<OwnersAdam>(
        spec, std::move(ranges), plan_.shard,
        [this,
         options = zero::Zero1Options{rule, spec.adam.decay_dims_min}](zero::AdamShard state) {
          return zero::make_zero_1_optimizer(*shards_, parameters(), plan_, options,
                                             std::move(state));
        });
  }

  void update(optim::Optimizer& optimizer, const Prepare& prepare) override {
    auto& adam = static_cast<OwnersAdam&>(optimizer);  // made by make_optimizer
    adam.before_update([&](const Tensor& gradient) {
      for (std::size_t unit = 0; unit < units_.size(); ++unit) {
        own_gradients(unit, gradient.narrow(starts_[unit], units_[unit].cut.shard));
      }
      gradient_ = gradient;
      LOCKSTEP_CHECK(prepare() == optim::Overflow::no,
                     "plain ZeRO 1: its part cannot skip a step that has begun");
    });
    naming("reduces gradients, updates, or gathers parameters", [&] { adam.step(); });
    adam.before_update({});
    gradient_ = {};
    adam.zero_grad();
  }
  std::vector<Tensor> gradients() const override { return {gradient_}; }

  void begin(zero::Reduces) override {}  // a pass adds to the whole gradients
  void end_backward() override {}
  void end_update() override {}

 private:
  zero::FlatShards plan_;             // of all units
  std::vector<std::int64_t> starts_;  // of each unit, in a rank's range
  Tensor gradient_;                   // [S] the mean of the ranks', within an update
};

}  // namespace

std::unique_ptr<zero::ShardedModel> make_plain_zero_1(const nn::ModelSpec& spec, std::uint64_t seed,
                                                      Device& device, zero::ShardGroups groups) {
  return std::make_unique<PlainZero1>(spec, seed, device, groups);
}

}  // namespace lockstep::train
