#include "engine/parallel/pipeline/run_stage.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {
namespace {

enum class Direction : std::uint8_t { forward, back };

// A tensor on its way from part to part: the output of a forward pass, or an input's gradient.
struct Parcel {
  Direction direction;
  int micro_batch;
  int from, to;  // parts
};

// What this stage's passes give to others and take from them.
class Exchange {
 public:
  Exchange(comm::Peers& stages, Stage& mine, const Plan& plan)
      : stages_(stages), mine_(mine), plan_(plan) {}

  // From now on what `action` needs may arrive.
  void expect(const Action& action) {
    const auto parcel = needed_by(action);
    if (!parcel || at_home(parcel->from) || arriving_.contains(tag_of(*parcel))) return;
    const PassOf pass{action.chunk, action.micro_batch};
    Tensor room = parcel->direction == Direction::forward ? mine_.make_input(pass)
                                                          : mine_.make_gradient(pass);
    comm::Work work = stages_.irecv(room, stage_of(parcel->from), tag_of(*parcel));
    arriving_.emplace(tag_of(*parcel), Arriving{std::move(room), std::move(work)});
  }

  // What `action` needs; undefined where that is nothing of another part.
  Tensor take(const Action& action) {
    const auto parcel = needed_by(action);
    if (!parcel) return {};
    if (at_home(parcel->from)) return handed_over_.extract(tag_of(*parcel)).mapped();
    expect(action);
    Arriving arriving = std::move(arriving_.extract(tag_of(*parcel)).mapped());
    arriving.work.wait();
    // Who made this is beyond all that it did before.
    forget(stage_of(parcel->from), position_of(parcel->from, *parcel));
    return std::move(arriving.tensor);
  }

  // Hands on what `action` made.
  void give(const Action& action, Tensor made) {
    const auto parcel = made_by(action);
    if (!parcel) return;
    if (at_home(parcel->to)) {
      handed_over_.emplace(tag_of(*parcel), std::move(made));
      return;
    }
    const int stage = stage_of(parcel->to);
    comm::Work work = stages_.isend(made, stage, tag_of(*parcel));
    leaving_.push_back({std::move(made), std::move(work), stage, position_of(parcel->to, *parcel)});
  }

  void finish() {
    for (Leaving& sent : leaving_) sent.work.wait();
    leaving_.clear();
  }

  int part_of(const Action& action) const { return action.chunk * plan_.stages + stages_.rank(); }
  int parts() const { return plan_.chunks * plan_.stages; }

 private:
  struct Arriving {
    Tensor tensor;
    comm::Work work;
  };
  struct Leaving {
    Tensor tensor;
    comm::Work work;
    int stage;             // that takes it
    std::size_t position;  // of the action there that does
  };

  int stage_of(int part) const { return part % plan_.stages; }
  bool at_home(int part) const { return stage_of(part) == stages_.rank(); }
  int tag_of(const Parcel& parcel) const {
    const int back = parcel.direction == Direction::back ? 1 : 0;
    return 2 * (parcel.micro_batch * parts() + parcel.from) + back;
  }

  // The stage has come to this position of its actions, so what it took before has arrived there.
  void forget(int stage, std::size_t position) {
    std::erase_if(leaving_, [&](Leaving& sent) {
      if (sent.stage != stage || sent.position > position) return false;
      sent.work.wait();
      return true;
    });
  }

  // Where in its stage's actions `part` makes the parcel, or takes it.
  std::size_t position_of(int part, const Parcel& parcel) const {
    const auto& actions = plan_.actions[static_cast<std::size_t>(stage_of(part))];
    const auto at = std::ranges::find_if(actions, [&](const Action& action) {
      const bool forward = action.pass == Pass::forward;
      return action.chunk == part / plan_.stages && action.micro_batch == parcel.micro_batch &&
             action.pass != Pass::weight_gradient &&
             forward == (parcel.direction == Direction::forward);
    });
    return static_cast<std::size_t>(at - actions.begin());
  }

  std::optional<Parcel> parcel_between(int from, int to, const Action& action) const {
    const bool inside = std::min(from, to) >= 0 && std::max(from, to) < parts();
    if (!inside || action.pass == Pass::weight_gradient) return std::nullopt;
    return Parcel{direction_of(action), action.micro_batch, from, to};
  }
  static Direction direction_of(const Action& action) {
    return action.pass == Pass::forward ? Direction::forward : Direction::back;
  }
  std::optional<Parcel> needed_by(const Action& action) const {
    const int step = direction_of(action) == Direction::forward ? 1 : -1;
    return parcel_between(part_of(action) - step, part_of(action), action);
  }
  std::optional<Parcel> made_by(const Action& action) const {
    const int step = direction_of(action) == Direction::forward ? 1 : -1;
    return parcel_between(part_of(action), part_of(action) + step, action);
  }

  comm::Peers& stages_;
  Stage& mine_;
  const Plan& plan_;
  std::map<int, Arriving> arriving_;   // by tag
  std::map<int, Tensor> handed_over_;  // the same, from a chunk of this stage to another
  std::vector<Leaving> leaving_;
};

// The loss of the batch, and where backward begins.
class Losses {
 public:
  explicit Losses(std::span<const double> weights) : weights_(weights) {}

  void add(int micro_batch, const Tensor& loss) {
    const double weight = weights_[static_cast<std::size_t>(micro_batch)];
    const Tensor share = ops::scale(loss, weight);
    if (sum_.defined()) {
      sum_.reduce_(share, ReduceOp::sum);
    } else {
      sum_ = share;
    }
    shares_[micro_batch] =
        full(loss.shape(), weight, loss.dtype(), loss.device(), MemoryKind::activations);
  }
  // d(loss of the batch) / d(loss of the micro-batch)
  Tensor share_of(int micro_batch) { return shares_.extract(micro_batch).mapped(); }
  const Tensor& sum() const { return sum_; }

 private:
  std::span<const double> weights_;
  Tensor sum_;
  std::map<int, Tensor> shares_;
};

}  // namespace

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  LOCKSTEP_CHECK(plan.stages == stages.size() && plan.chunks == mine.chunks() &&
                     plan.micro_batches == std::ssize(weights) &&
                     std::ssize(plan.actions) == plan.stages,
                 "run_stage: a plan for ", plan.stages, " stages of ", plan.chunks, " chunks and ",
                 plan.micro_batches, " micro-batches, but here are ", stages.size(), " of ",
                 mine.chunks(), ", and ", weights.size(), " micro-batches");
  const auto& actions = plan.actions[static_cast<std::size_t>(stages.rank())];
  Exchange exchange(stages, mine, plan);
  Losses losses(weights);
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const Action& action = actions[k];
    const PassOf pass{action.chunk, action.micro_batch};
    const bool ends = exchange.part_of(action) == exchange.parts() - 1;
    const Tensor given = exchange.take(action);
    if (k + 1 < actions.size()) exchange.expect(actions[k + 1]);
    if (action.pass == Pass::weight_gradient) {
      mine.weight_gradient(pass);
    } else if (action.pass == Pass::forward) {
      Tensor made = mine.forward(pass, given);
      if (ends) losses.add(action.micro_batch, made);
      exchange.give(action, std::move(made));
    } else {
      const Tensor gradient = ends ? losses.share_of(action.micro_batch) : given;
      exchange.give(action, action.pass == Pass::backward ? mine.backward(pass, gradient)
                                                          : mine.input_gradient(pass, gradient));
    }
  }
  exchange.finish();
  return {losses.sum()};
}

}  // namespace lockstep::pipeline
