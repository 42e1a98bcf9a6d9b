// The exam of a layer whose tensors are dealt to the ranks of a group (play/layer_play.hpp). An
// exam says how each tensor is dealt, draws the whole ones, and computes the layer on one device,
// rightly and with the usual mistakes; cases, comparisons and costs are here.
//
// The gradient of an output is given for the output alone, so a backward pass cannot begin before
// the forward pass is over. What a pass costs forward shows in a case that only goes forward.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/function/dense_numbers.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/dealt.hpp"
#include "grader/exam/ranks/member_memory.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// A tensor of a layer: how its whole is dealt, and the shape of each rank's piece.
struct LayerPart {
  std::string name{};  // "the weight"
  Dealt deal{{}, {}};
  std::vector<Axes> shapes{};  // by rank
  std::int64_t count = 0;      // numbers of the whole
  // By rank: a likely cause of a missing gradient, if an exam can tell one; or empty.
  std::vector<std::string> unused{};
};
// Every rank has all of it.
LayerPart held_by_all(const std::string& name, const Axes& shape, int ranks);
// Rank r has the r-th of N equal ranges of an axis.
LayerPart cut_along(const std::string& name, const Axes& shape, std::size_t axis, int ranks);
// Each rank has a tensor of this shape for itself; the whole is theirs, one after the other.
LayerPart own_of_each(const std::string& name, const Axes& shape, int ranks);

// A tensor's pieces on all ranks, by rank; and the pieces in their places, where of several pieces
// for one place that of `rank` is the one that counts.
using OfRanks = std::vector<Numbers>;
OfRanks pieces_of(const LayerPart& part, const Numbers& whole);
Numbers whole_of(const LayerPart& part, const OfRanks& pieces, int rank);

struct LayerNumbers {
  std::vector<Numbers> outputs{}, input_gradients{};  // by pass
  std::vector<Numbers> parameter_gradients{};         // of all passes together
};

// A layer of a case: its tensors, their numbers, and what one device makes of them.
struct Layer {
  LayerPart input{}, output{}, output_gradient{}, input_gradient{};
  std::vector<LayerPart> parameters{};
  std::vector<Numbers> inputs{}, output_gradients{};  // by pass
  // By pass, of a walk in halves: x as it is from the second half on.
  std::vector<Numbers> late_inputs{};
  std::vector<Numbers> values{};  // of the parameters
  LayerNumbers right{};
  std::optional<LayerNumbers> early{};  // with the x of the first half
  std::vector<std::int64_t> options{};  // as LayerCase
  // If set, gradients of matrices have to wait for the second half of a walk in halves. Who makes
  // them before has not seen the x of it.
  bool weights_come_late = false;
  // How the output comes about, step by step: for a wrong one in which no mistake is recognised.
  std::string steps{};

  // The x from which the gradients of weights are made.
  const Numbers& last_input(std::size_t pass) const {
    return late_inputs.empty() ? inputs[pass] : late_inputs[pass];
  }
  // compute(layer) makes LayerNumbers.
  void compute(const auto& compute) {
    right = compute(*this);
    if (late_inputs.empty()) return;
    Layer first = *this;
    first.late_inputs.clear();
    early = compute(first);
  }
};

// The problem of every layer; an exam derives its own from it.
struct LayerProblem {
  Members members = whole_world(2);
  DType dtype = DType::float64;
  LayerWalk walk = LayerWalk::whole;
  LayerInput input = LayerInput::wanted;
  LayerFrozen frozen = LayerFrozen::none;
  std::vector<std::uint32_t> back{0};  // one pass, or several in the order in which they go back
  Odd odd = Odd::none;
  enum class Where : std::uint8_t { input, gradient } odd_in = Where::input;
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::size_t passes() const { return back.size(); }
  bool trains() const { return walk == LayerWalk::whole || walk == LayerWalk::in_halves; }
  std::string in_words() const;  // "3 ranks, float64, 2 passes"
};

// `count` numbers that are not 0: of float64, numbers that no float32 holds; of other types, whole
// ones from -2 to 2, of which sums are exact.
Numbers drawn_numbers(DType dtype, std::uint64_t salt, std::uint64_t stream, std::int64_t count);

// Draws the inputs and the output gradients of all passes, with what is odd in them, and the
// parameters.
void draw_layer(const LayerProblem& p, std::uint64_t salt, Layer& layer);

LayerCase layer_case(const LayerProblem& p, const Layer& layer, int rank);

class LayerService final : public TypedService<LayerCall> {
 public:
  LayerService(const LayerProblem& p, Layer layer, MomentService::ReadMemory read);

  struct Seen {
    std::vector<LayerCall> outputs{};    // by pass
    std::size_t back = 0;                // passes that are back
    MemberMemory forward{}, backward{};  // the most when a pass was over
  };
  const Seen& of(int rank) const { return seen_[static_cast<std::size_t>(rank)]; }
  const Layer& layer() const { return layer_; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, LayerCall call, double now) override;

  LayerProblem p_;
  Layer layer_;
  MomentService::ReadMemory read_;
  std::vector<Seen> seen_;
};

using LayerReports = std::vector<LayerReport>;

// Outputs, and the gradients of inputs and parameters; and hooks, which fire once a pass.
void compare_layer(CaseRunner& runner, const Played& played, const LayerProblem& p,
                   const LayerReports& reports, const LayerService& seen);

// The price of a pass: bytes of the busiest rank, and collectives. In words, as sentences go on:
// "one all-reduce of the output".
struct LayerPrice {
  double forward = 0, backward = 0;
  int forward_collectives = 0, backward_collectives = 0;
  std::string forward_words{}, backward_words{};     // empty: nothing is sent
  std::vector<std::pair<double, Cause>> mistakes{};  // bytes of all passes
  double unneeded = 0;  // of the bytes of a pass, those that a right part may do without
};
// Looks at what all passes of a case cost together; only forward if none goes back. Less is as
// wrong as more: who sends less has computed, or kept, what another rank has to.
void check_layer_price(CaseRunner& runner, const Played& played, const LayerProblem& p,
                       const LayerPrice& price);

// The situations into which a rank's case puts the part.
void ask_of_layer(const LayerProblem& p, const Layer& layer, int rank, Situations& asked);

template <typename Problem>
using LayerContract = RanksContract<Problem, LayerCase, LayerReport, LayerService>;

// layer_of(problem, salt) is the layer of a case. It is made once, with the services.
template <typename Problem>
LayerContract<Problem> layer_contract(
    const std::function<Layer(const Problem&, std::uint64_t)>& layer_of,
    std::function<std::vector<Problem>(const Problem&)> smaller = {}) {
  const auto made = std::make_shared<Layer>();
  return {.case_of = [made](const Problem& p, std::uint64_t,
                            int rank) { return layer_case(p, *made, rank); },
          .compare = [](CaseRunner& at, const Played& played, const Problem& p, std::uint64_t,
                        const LayerReports& reports,
                        const LayerService& seen) { compare_layer(at, played, p, reports, seen); },
          .ask_of = [made](const Problem& p, std::uint64_t, int rank, const LayerCase&,
                           Situations& asked) { ask_of_layer(p, *made, rank, asked); },
          .smaller = std::move(smaller),
          .services =
              [layer_of, made](CaseRunner& runner, const Problem& p, std::uint64_t salt) {
                *made = layer_of(p, salt);
                return std::tuple(LayerService(
                    p, *made, [&runner](int rank) { return runner.memory_bytes(rank); }));
              }};
}

// A layer may be given constants, of which nothing wants a gradient: its last parameter (a bias),
// or all of them, or x. And a tape may only infer.
template <typename Checks>
Question constants_of(const Checks& checks, int ranks = 2) {
  return [=](CaseRunner& runner) {
    const auto ask = [&](LayerFrozen frozen, LayerInput input, LayerWalk walk) {
      checks.ask(runner, ranks,
                 [=](auto& p) { p.frozen = frozen, p.input = input, p.walk = walk; });
    };
    ask(LayerFrozen::last, LayerInput::wanted, LayerWalk::whole);
    ask(LayerFrozen::all, LayerInput::wanted, LayerWalk::whole);
    ask(LayerFrozen::last, LayerInput::constant, LayerWalk::whole);
    ask(LayerFrozen::all, LayerInput::constant, LayerWalk::inference);
  };
}

// Smaller layers: of fewer ranks, which divide what `cut` finds in a problem; of fewer passes; and
// by an exam's own ways (smaller_by). One that must be refused stays as it is.
template <typename Cut, typename... Ways>
auto smaller_layer_by(Cut cut, Ways... ways) {
  return [=]<typename Problem>(const Problem& p) {
    std::vector<Problem> offered;
    if (p.walk == LayerWalk::refused) return offered;
    for (int ranks = 1; ranks < p.ranks(); ++ranks) {
      if (std::invoke(cut, p) % ranks == 0) offered.emplace_back(p).members = whole_world(ranks);
    }
    if (p.passes() > 1) offered.emplace_back(p).back = {0};
    (ways(p, offered), ...);
    return offered;
  };
}
inline constexpr auto any_ranks = [](const LayerProblem&) { return 0; };

}  // namespace lockstep::grader
