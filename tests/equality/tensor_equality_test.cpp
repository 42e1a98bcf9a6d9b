// Tensor parallelism against one rank, as the other ways to train (equality_test.cpp): with whole
// sequences and with slices, tied and untied, alone and below DDP, and the mistakes that shared
// layers invite. A vocabulary of 257 is one that no number of ranks divides.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"

using namespace lockstep;
using tensor_parallel::Sequence;
using tensor_parallel::TensorLayers;
using test::BarTask;
using test::Distance;
using test::MakeWay;
using test::World;

namespace {

enum class Fault : std::uint8_t {
  none,
  norms_not_summed,   // each rank keeps the gradient of its own tokens
  bias_everywhere,    // added in every rank's term of a sum, so t times
  swapped,            // the two operators around a layer
  head_not_trained,   // a tied table that gets the embedding's gradient only
  mean_of_all_ranks,  // gradients are averaged over the ranks of a layer too
};

struct Setting {
  int tp = 1, dp = 1;
  Sequence sequence = Sequence::whole;
  Fault fault = Fault::none;
  enum class Reduction : std::uint8_t { ddp, plain } reduction = Reduction::ddp;

  int ranks() const { return tp * dp; }
};

std::string text_of(const Setting& setting) {
  return text("tp ", setting.tp, ", dp ", setting.dp,
              setting.sequence == Sequence::sliced ? ", sliced" : "",
              setting.reduction == Setting::Reduction::plain ? ", plain" : "");
}

// GELU between two layers of which each rank has a share, with a mistake.
class WrongFeedForward final : public nn::Module {
 public:
  WrongFeedForward(std::unique_ptr<nn::Module> right, comm::ProcessGroup& group, Fault fault)
      : right_(std::move(right)), group_(group), fault_(fault) {}

  Value forward(Tape& tape, const Value& x) override {
    const auto all = right_->parameters();
    const Value fc_weight = tape.leaf(*all[0]), fc_bias = tape.leaf(*all[1]);
    const Value proj_weight = tape.leaf(*all[2]), proj_bias = tape.leaf(*all[3]);
    const bool swapped = fault_ == Fault::swapped;
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
  Fault fault_;
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

// The mean over dp, then over the ranks of a layer too.
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
  WrongLayers(comm::ProcessGroup& group, Sequence sequence, Fault fault)
      : TensorLayers(group, sequence), group_(group), fault_(fault) {}

  nn::Part part_of(const Parameter& parameter) const override {
    nn::Part part = TensorLayers::part_of(parameter);
    if (fault_ == Fault::norms_not_summed) part.gradient = nn::Part::Gradient::complete;
    return part;
  }
  std::unique_ptr<nn::Module> feed_forward(const std::string& name, std::int64_t width,
                                           std::int64_t hidden, const nn::Deviations& deviations,
                                           const nn::Made& made) const override {
    auto right = TensorLayers::feed_forward(name, width, hidden, deviations, made);
    if (fault_ != Fault::bias_everywhere && fault_ != Fault::swapped) return right;
    return std::make_unique<WrongFeedForward>(std::move(right), group_, fault_);
  }
  std::unique_ptr<nn::Module> head(Parameter& table) const override {
    if (fault_ != Fault::head_not_trained) return TensorLayers::head(table);
    return std::make_unique<UntrainedHead>(*this, table);
  }

 private:
  comm::ProcessGroup& group_;
  Fault fault_;
};

MakeWay way_of(const Setting& setting) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) -> std::unique_ptr<train::Strategy> {
    const train::TrainingRanks ranks(group, {.tp = setting.tp, .dp = setting.dp});
    train::Recipe spread = recipe;
    if (ranks.layer() != nullptr) {
      spread.model.layers =
          std::make_shared<WrongLayers>(*ranks.layer(), setting.sequence, setting.fault);
    }
    if (setting.reduction == Setting::Reduction::plain) {
      return train::make_plain(ranks, train::make_replica(spread, device), task.clip_norm);
    }
    train::DdpRun run{.accumulate = task.accumulate, .clip_norm = task.clip_norm};
    run.options.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
    if (setting.fault == Fault::mean_of_all_ranks) {
      run.hooked.hook = std::make_unique<MeanOfAll>(ranks);
    }
    return train::make_ddp_or_plain(ranks, device, spread, std::move(run));
  };
}

// The global batch is one that all numbers of replicas divide.
constexpr std::int64_t batch = 8;

Distance apart(World world, const Setting& setting, const BarTask& task, std::int64_t samples) {
  return distance(test::course_of(world, setting.ranks(), way_of(setting), task, samples),
                  test::alone(task, samples));
}

// Every head, dropout and accumulation for each layout.
std::vector<BarTask> first_steps(const Setting& setting) {
  std::vector<BarTask> all;
  for (const auto head : {nn::OutputHead::tied, nn::OutputHead::untied}) {
    for (const double dropout : {0.0, 0.1}) {
      for (const std::int64_t accumulate : {1, 2}) {
        if (setting.reduction == Setting::Reduction::plain && accumulate > 1) continue;
        BarTask task = test::first_gradients(accumulate, dropout);
        task.head = head;
        task.vocabulary = dropout > 0 ? 257 : 256;
        task.keep = accumulate > 1 ? nn::Keep::block_inputs : nn::Keep::activations;
        all.push_back(task);
      }
    }
  }
  return all;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (const auto& [tp, dp] : {std::pair{1, 2}, {2, 1}, {4, 1}, {2, 2}, {4, 2}, {2, 4}}) {
    for (const auto sequence : {Sequence::whole, Sequence::sliced}) {
      if (tp == 1 && sequence == Sequence::sliced) continue;
      all.push_back({tp, dp, sequence});
      all.push_back({tp, dp, sequence, Fault::none, Setting::Reduction::plain});
    }
  }
  return all;
}

void check_run(World world, const Setting& setting, const BarTask& task) {
  const Distance seen = apart(world, setting, task, batch);
  const std::string run = text(text_of(setting), ", ", name_of(world), ", ",
                               name_of(task.optimizer.kind), ", ", task.steps, " steps");
  std::cout << run << ": losses " << seen.loss << " apart, parameters " << seen.parameter
            << std::endl;
  INFO(run << ", worst: " << seen.worst);
  CHECK(seen.loss <= test::of_losses);
  CHECK(seen.parameter <= test::of_weights);
}

// Infinitely far where ranks end with copies that differ, which the course refuses.
Distance apart_if_equal(const Setting& setting, const BarTask& task) {
  try {
    return apart(World::sim, setting, task, batch);
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find("copies of a parameter differ") ==
        std::string_view::npos) {
      throw;
    }
    constexpr double far = std::numeric_limits<double>::infinity();
    return {far, far, "copies"};
  }
}

BarTask clipped_task() {
  BarTask task = test::adamw_task();
  task.steps = 8;
  task.accumulate = 2;
  task.vocabulary = 257;
  task.dropout = 0.1;
  return task;
}

}  // namespace

TEST_CASE("equality: layers on several ranks, the gradients of the first step are one rank's") {
  int count = 0;
  Distance most;
  for (const Setting& setting : all_settings()) {
    for (const BarTask& task : first_steps(setting)) {
      const Distance seen = apart(World::sim, setting, task, batch);
      INFO(text_of(setting) << ", " << (task.head == nn::OutputHead::tied ? "tied" : "untied")
                            << ", dropout " << task.dropout << ", " << task.accumulate
                            << " batches, worst: " << seen.worst);
      CHECK(seen.loss <= test::of_losses);
      CHECK(seen.parameter <= test::of_gradients);
      most.loss = std::max(most.loss, seen.loss);
      most.parameter = std::max(most.parameter, seen.parameter);
      ++count;
    }
  }
  std::cout << count << " settings: losses at most " << most.loss << " apart, gradients "
            << most.parameter << std::endl;
}

TEST_CASE("equality: layers on several ranks, clipped runs of AdamW and runs of SGD") {
  BarTask sgd = test::sgd_task();
  sgd.steps = 10;
  for (const Setting& setting :
       {Setting{2, 1}, Setting{4, 1, Sequence::sliced}, Setting{2, 2, Sequence::sliced}}) {
    check_run(World::sim, setting, clipped_task());
    check_run(World::sim, setting, sgd);
  }
  for (const World world : {World::shm, World::tcp}) {
    check_run(world, {2, 1, Sequence::sliced}, clipped_task());
    check_run(world, {2, 2}, sgd);
  }
}

TEST_CASE("equality: the bar finds what goes wrong between the ranks of a layer") {
  struct Case {
    Fault fault;
    Sequence sequence;
  };
  for (const auto& [fault, sequence] :
       {Case{Fault::none, Sequence::whole}, Case{Fault::none, Sequence::sliced},
        Case{Fault::norms_not_summed, Sequence::sliced},
        Case{Fault::bias_everywhere, Sequence::whole}, Case{Fault::swapped, Sequence::whole},
        Case{Fault::head_not_trained, Sequence::whole},
        Case{Fault::head_not_trained, Sequence::sliced},
        Case{Fault::mean_of_all_ranks, Sequence::whole}}) {
    const Setting setting{2, 2, sequence, fault};
    BarTask run = test::sgd_task();
    run.steps = 5;
    const Distance first = apart_if_equal(setting, test::first_gradients(1, 0));
    const Distance later = apart_if_equal(setting, run);
    CAPTURE(static_cast<int>(fault), static_cast<int>(sequence), first.parameter, first.worst,
            later.loss);
    // Biases begin at zero, so at first it does not matter how often they are added.
    const bool at_once = fault != Fault::none && fault != Fault::bias_everywhere;
    CHECK((first.parameter <= test::of_gradients) == !at_once);
    CHECK((later.loss <= test::of_losses) == (fault == Fault::none));
  }
}
