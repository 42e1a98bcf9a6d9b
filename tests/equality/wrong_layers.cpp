#include "tests/equality/wrong_layers.hpp"

#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"

namespace lockstep::test {
namespace {

using tensor_parallel::Sequence;
using tensor_parallel::TensorLayers;

// GELU between two layers of which each rank has a share, with a mistake.
class WrongFeedForward final : public nn::Module {
 public:
  WrongFeedForward(std::unique_ptr<nn::Module> right, comm::ProcessGroup& group, LayerFault fault)
      : right_(std::move(right)), group_(group), fault_(fault) {}

  Value forward(Tape& tape, const Value& x) override {
    const auto all = right_->parameters();
    const Value fc_weight = tape.leaf(*all[0]), fc_bias = tape.leaf(*all[1]);
    const Value proj_weight = tape.leaf(*all[2]), proj_bias = tape.leaf(*all[3]);
    const bool swapped = fault_ == LayerFault::swapped;
    const Value in = swapped ? autograd::scale(tape, leave(tape, x), 1.0 / group_.size())
                             : tensor_parallel::enter_parallel(tape, group_, x);
    const Value hidden = autograd::activate(tape, autograd::linear(tape, in, fc_weight, fc_bias),
                                            ops::Activation::gelu);
    if (swapped) {
      const Value mine = autograd::linear(tape, hidden, proj_weight);
      return autograd::add(tape, tensor_parallel::enter_parallel(tape, group_, mine), proj_bias);
    }
    return leave(tape, autograd::linear(tape, hidden, proj_weight, proj_bias));
  }
  std::vector<Parameter*> parameters() override { return right_->parameters(); }

 private:
  Value leave(Tape& tape, const Value& x) const {
    return tensor_parallel::leave_parallel(tape, group_, x);
  }

  std::unique_ptr<nn::Module> right_;
  comm::ProcessGroup& group_;
  LayerFault fault_;
};

// The logits are right; their gradient of the table goes to a copy that nobody trains.
class UntrainedHead final : public nn::Module {
 public:
  UntrainedHead(const TensorLayers& layers, Parameter& table)
      : table_(table), copy_(table), head_(layers.TensorLayers::head(copy_)) {}
  Value forward(Tape& tape, const Value& x) override {
    copy_.value = table_.value;
    copy_.grad = {};
    return head_->forward(tape, x);
  }
  std::vector<Parameter*> parameters() override { return {}; }

 private:
  Parameter& table_;
  Parameter copy_;
  std::unique_ptr<nn::Module> head_;
};

class MeanOfAll final : public collectives::CommHook {
 public:
  explicit MeanOfAll(train::TrainingRanks ranks) : ranks_(std::move(ranks)) {}
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    group.all_reduce(bucket.flat, ReduceOp::average);
    return ranks_.layer()->all_reduce_async(bucket.flat, ReduceOp::average);
  }

 private:
  train::TrainingRanks ranks_;
};

class WrongLayers final : public TensorLayers {
 public:
  WrongLayers(comm::ProcessGroup& group, Sequence sequence, LayerFault fault)
      : TensorLayers(group, sequence), group_(group), fault_(fault) {}

  nn::Holding holding_of(const Parameter& parameter) const override {
    nn::Holding held = TensorLayers::holding_of(parameter);
    if (fault_ == LayerFault::norms_not_summed) held.gradient = nn::Holding::Gradient::complete;
    return held;
  }
  std::unique_ptr<nn::Module> feed_forward(const std::string& name, std::int64_t width,
                                           std::int64_t hidden, const nn::Deviations& deviations,
                                           const nn::Made& made) const override {
    auto right = TensorLayers::feed_forward(name, width, hidden, deviations, made);
    if (fault_ != LayerFault::bias_everywhere && fault_ != LayerFault::swapped) return right;
    return std::make_unique<WrongFeedForward>(std::move(right), group_, fault_);
  }
  std::unique_ptr<nn::Module> head(Parameter& table) const override {
    if (fault_ != LayerFault::head_not_trained) return TensorLayers::head(table);
    return std::make_unique<UntrainedHead>(*this, table);
  }

 private:
  comm::ProcessGroup& group_;
  LayerFault fault_;
};

}  // namespace

std::shared_ptr<const nn::LayerMaker> make_wrong_layers(comm::ProcessGroup& group,
                                                        Sequence sequence, LayerFault fault) {
  return std::make_shared<WrongLayers>(group, sequence, fault);
}

std::unique_ptr<collectives::CommHook> make_mean_of_all(const train::TrainingRanks& ranks) {
  return std::make_unique<MeanOfAll>(ranks);
}

}  // namespace lockstep::test
