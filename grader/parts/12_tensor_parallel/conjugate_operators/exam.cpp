// The exam of conjugate_operators: f alone, g alone, and both around a product of which each rank
// has its own factors. A rank is given its own tensor and no other's; the judge adds them up.
#include "grader/exam/layer/exam.hpp"
#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/12_tensor_parallel/conjugate_operators/case.hpp"

namespace lockstep::grader::conjugate_operators {
namespace {

struct Problem : LayerProblem {
  OperatorsAsked asked = OperatorsAsked::both;
  Axes shape{2, 3};

  std::int64_t count() const {
    std::int64_t all = 1;
    for (const std::int64_t size : shape) all *= size;
    return all;
  }
  std::string description() const {
    const std::string what = asked == OperatorsAsked::enter   ? "enter_parallel"
                             : asked == OperatorsAsked::leave ? "leave_parallel"
                                                              : "both, with a product between";
    return text(what, ", ", in_words(), ", ", counted(count(), "element"), " in ",
                counted(std::ssize(shape), "dimension"));
  }
};

// The sum, on each rank.
OfRanks summed(const OfRanks& given) {
  Numbers sum;
  for (const Numbers& one : given) add_numbers(sum, one);
  return OfRanks(given.size(), sum);
}

OfRanks multiplied(const OfRanks& a, const OfRanks& b) {
  OfRanks all = a;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    for (std::size_t e = 0; e < all[rank].size(); ++e) all[rank][e] *= b[rank][e];
  }
  return all;
}

// f keeps x and sums gradients, g sums terms and keeps the gradient.
LayerNumbers computed(const Problem& p, const Layer& layer) {
  LayerNumbers all;
  OfRanks factor_sums(static_cast<std::size_t>(p.ranks()));
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    const OfRanks x = pieces_of(layer.input, layer.inputs[pass]);
    const OfRanks dy = pieces_of(layer.output_gradient, layer.output_gradients[pass]);
    OfRanks y = x, dx = dy;
    if (p.asked == OperatorsAsked::both) {
      const OfRanks factors = pieces_of(layer.parameters.front(), layer.values.front());
      y = multiplied(x, factors);
      dx = multiplied(dy, factors);
      const OfRanks of_factors = multiplied(dy, x);
      for (std::size_t r = 0; r < factor_sums.size(); ++r) {
        add_numbers(factor_sums[r], of_factors[r]);
      }
    }
    if (p.asked != OperatorsAsked::enter) y = summed(y);
    if (p.asked != OperatorsAsked::leave) dx = summed(dx);
    all.outputs.push_back(whole_of(layer.output, y, 0));
    all.input_gradients.push_back(whole_of(layer.input_gradient, dx, 0));
  }
  if (p.asked == OperatorsAsked::both) {
    all.parameter_gradients.push_back(whole_of(layer.parameters.front(), factor_sums, 0));
  }
  return all;
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const bool enters = p.asked == OperatorsAsked::enter, leaves = p.asked == OperatorsAsked::leave;
  Layer layer;
  layer.steps =
      "f: forward as it is, backward the sum over the ranks; g: forward the sum, backward as it "
      "is; also where no backward follows";
  layer.input = leaves ? own_of_each("the term", p.shape, n) : held_by_all("x", p.shape, n);
  layer.output = held_by_all("the output", p.shape, n);
  layer.output_gradient = enters ? own_of_each("the gradient that arrives", p.shape, n)
                                 : held_by_all("the gradient that arrives", p.shape, n);
  layer.input_gradient = held_by_all("the gradient of x", p.shape, n);
  if (p.asked == OperatorsAsked::both) {
    layer.parameters.push_back(own_of_each("the factors", p.shape, n));
  }
  layer.options = {static_cast<std::int64_t>(p.asked)};
  draw_layer(p, salt, layer);
  layer.right = computed(p, layer);
  return layer;
}

const RanksChecks checks(layer_contract<Problem>(
    layer_of, smaller_layer_by(any_ranks, [](const Problem& p, std::vector<Problem>& offered) {
      if (p.count() > 1) offered.emplace_back(p).shape = {1};
    })));

constexpr OperatorsAsked each_asked[] = {OperatorsAsked::enter, OperatorsAsked::leave,
                                         OperatorsAsked::both};

const auto both = with(&Problem::asked, OperatorsAsked::both);
void any_shape(CaseRunner& runner) {
  for (const OperatorsAsked asked : each_asked) {
    for (const Axes& shape : {Axes{}, {0}, {7}, {2, 1, 5}}) {
      Problem p = checks.usual(runner, 3, with(&Problem::asked, asked));
      p.shape = shape;
      Situations situations;
      if (shape.size() == 3) situations = {Situation::shapes};  // the scalar came before
      checks.ask(runner, p, {}, situations);
    }
  }
}

void several_passes(CaseRunner& runner) {
  for (const std::vector<std::uint32_t>& back : {std::vector<std::uint32_t>{2, 0, 1}, {0, 1}}) {
    Problem p = checks.usual(runner, 3, both);
    p.back = back;
    checks.ask(runner, p);
    p.walk = LayerWalk::in_halves;
    p.back = {1, 0};
    checks.ask(runner, p);
  }
}

void in_halves(Problem& p) {
  both(p);
  p.walk = LayerWalk::in_halves;
}

// Each operator alone: what one swallows, the other would tell.
void lost_peers(CaseRunner& runner) {
  std::vector<std::pair<Problem, int>> dead;
  for (const OperatorsAsked asked : {OperatorsAsked::enter, OperatorsAsked::leave}) {
    for (const int rank : {2, 0})
      dead.emplace_back(checks.usual(runner, 3, with(&Problem::asked, asked)), rank);
  }
  judge_lost_peers(runner, checks.contract(), dead, 20);
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const double once =
      ring_bytes(p.count() * static_cast<std::int64_t>(bytes_of(p.dtype)), p.ranks());
  LayerPrice price;
  if (p.asked != OperatorsAsked::enter) {
    price.forward = once;
    price.forward_collectives = 1;
    price.forward_words = "one all-reduce forward";
  }
  if (p.asked != OperatorsAsked::leave && p.input == LayerInput::wanted) {
    price.backward = once;
    price.backward_collectives = 1;
    price.backward_words = "one all-reduce backward";
  }
  check_layer_price(runner, played, p, price);
}

void cost(CaseRunner& runner) {
  for (const OperatorsAsked asked : each_asked) {
    for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
      checks.on(
          {2, 4},
          [=](Problem& p) {
            p.asked = asked;
            p.walk = walk;
            p.shape = {6, 10};
          },
          check_cost)(runner);
    }
  }
  Problem p = checks.usual(runner, 3, both);
  p.input = LayerInput::constant;
  checks.ask(runner, p, check_cost);
  p = checks.usual(runner, 1, both);
  p.shape = {600, 100};
  checks.ask(runner, p, check_cost, {Situation::price_at_the_extremes});
}

// Tensors of 8 MB. Forward, f makes none and g one; backward it is the other way round.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const LayerService& seen) {
  const bool enters = p.asked == OperatorsAsked::enter;
  constexpr std::int64_t small = 4096;
  // The adapter has a tensor, and the case in two forms: as it came, and taken apart. Forward, it
  // shows the output, in two forms as well; backward, it has the gradient.
  const std::int64_t bytes = p.count() * 8;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_member_memory(
        runner, played, rank, seen.of(rank).forward,
        {.tensor_bytes = (enters ? 0 : bytes) + small,
         .adapter_bytes = 5 * bytes,
         .of_what = enters ? "an operator that returns what it was given" : "the sum",
         .cause = {"copied", enters ? "forward, f changes nothing: record the same tensor"
                                    : "the sum is all that is made; keep nothing else"}});
    check_member_memory(
        runner, played, rank, seen.of(rank).backward,
        {.tensor_bytes = bytes + small,
         .adapter_bytes = 4 * bytes,
         .of_what = enters ? "the sum of the gradients" : "the sum that was made forward",
         .cause = {"copied", enters ? "one copy of the gradient is enough"
                                    : "backward, g passes on the gradient as it is"}});
  }
}

void memory(CaseRunner& runner) {
  for (const OperatorsAsked asked : {OperatorsAsked::enter, OperatorsAsked::leave}) {
    checks.then(check_memory).ask(runner, 2, [&](Problem& p) {
      p.asked = asked;
      p.shape = {300'000};
    });
  }
}

}  // namespace

Exam exam() {
  return {
      {"enter_parallel on 1 to 8 and 13 ranks: x forward, the sum of the gradients backward",
       checks.every_size(with(&Problem::asked, OperatorsAsked::enter))},
      by_itself("leave_parallel on as many: the sum of the terms forward, the gradient backward",
                checks.every_size(with(&Problem::asked, OperatorsAsked::leave))),
      {"both, around a product: those of one device, also where backward is walked in two halves",
       in_turn(checks.every_size(both), checks.on({3}, in_halves))},
      {"any shape: a scalar, no elements, one dimension, three", any_shape},
      checks.any_type(both),
      {"NaN, infinity and zeros go the same ways",
       in_turn(checks.odd_values(3, with(&Problem::asked, OperatorsAsked::leave)),
               checks.odd_values(3, both))},
      {"several passes in flight, in any order, in two halves; in a subgroup, twice",
       in_turn(several_passes, checks.twice_in_a_subgroup(both))},
      of_fault("when a peer is lost, a rank throws CommError", lost_peers),
      of_cost("f sends nothing forward, g nothing backward, and each one all-reduce the other way",
              cost),
      of_cost("f makes a tensor backward only, and g forward only", memory),
  };
}

}  // namespace lockstep::grader::conjugate_operators
