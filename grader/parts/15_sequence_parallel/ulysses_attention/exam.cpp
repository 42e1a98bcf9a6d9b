// The exam of ulysses_attention. A rank is given its tokens of queries, keys and values, of all
// heads. The judge attends on one device, and counts what travels.
#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/15_sequence_parallel/ulysses_attention/problem.hpp"

namespace lockstep::grader::ulysses_attention {
namespace {

// No more heads than ranks, and a token less.
void fewer_heads(const Problem& p, std::vector<Problem>& offered) {
  if (p.heads > p.ranks()) offered.emplace_back(p).heads = p.ranks();
  if (p.tokens > p.ranks()) offered.emplace_back(p).tokens = p.tokens - 1;
}

// The error names the numbers of heads below and above that the ranks divide.
void check_nearest(CaseRunner& runner, const Played& played, const Problem& p,
                   const LayerReports& reports) {
  const std::int64_t below = p.heads / p.ranks() * p.ranks(), above = below + p.ranks();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const std::string& what = reports[rank].ending.what;
    const auto names = [&](std::int64_t number) {
      return number == 0 || what.find(text(number)) != std::string::npos;
    };
    if (names(below) && names(above)) continue;
    runner.fail(played, because({"no_nearest", "the check that stands above your region says so"},
                                {.message = text("the error does not name the nearest numbers of "
                                                 "heads that ",
                                                 p.ranks(), " ranks divide: ", what),
                                 .where = text("rank ", rank)}));
  }
}

LayerContract<Problem> contract() {
  auto contract = layer_contract<Problem>(
      layer_of, smaller_layer_by(&Problem::heads, down_to(&Problem::batch, 1),
                                 down_to(&Problem::head_size, 1), fewer_heads));
  contract.compare = [compared = contract.compare](
                         CaseRunner& at, const Played& played, const Problem& p, std::uint64_t salt,
                         const LayerReports& reports, const LayerService& seen) {
    compared(at, played, p, salt, reports, seen);
    if (p.misfit == Misfit::heads) check_nearest(at, played, p, reports);
  };
  return contract;
}

const RanksChecks checks(contract(), [](Problem& p) {
  const int n = p.ranks();
  p.heads = n <= 4 ? 2 * n : n;
  p.head_size = n <= 6 ? 3 : 2;
  p.tokens = std::int64_t{2} * n;
  if (n > 6) p.batch = 1;
});

void any_size(CaseRunner& runner) {
  for (const auto& [batch, tokens, heads, size] :
       {std::tuple{1, 3, 3, 1}, {1, 8, 6, 1}, {3, 7, 3, 5}, {2, 4, 9, 2}, {4, 11, 3, 2}}) {
    checks.ask(runner, 3, [&](Problem& p) {
      p.batch = batch;
      p.tokens = tokens;
      p.heads = heads;
      p.head_size = size;
    });
  }
}

void other_walks(CaseRunner& runner) {
  checks.ask(runner, 3, with(&Problem::back, {2, 0, 1}));
  checks.ask(runner, 3, [](Problem& p) {
    p.walk = LayerWalk::in_halves;
    p.back = {0, 1};
  });
  checks.ask(runner, 2, with(&Problem::walk, LayerWalk::inference));
}

void refused(CaseRunner& runner) {
  for (const auto& [misfit, ranks, heads, tokens] : {std::tuple{Misfit::heads, 2, 3, 6},
                                                     {Misfit::heads, 4, 2, 8},
                                                     {Misfit::heads, 3, 40, 6},
                                                     {Misfit::few, 4, 4, 3},
                                                     {Misfit::slice, 2, 4, 6},
                                                     {Misfit::columns, 2, 4, 6}}) {
    checks.ask(runner, ranks, [&](Problem& p) {
      p.walk = LayerWalk::refused;
      p.misfit = misfit;
      p.heads = heads;
      p.tokens = tokens;
    });
  }
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  // The bytes of one rank's tokens, with equal slices.
  const std::int64_t one =
      p.batch * p.tokens / p.ranks() * p.width() * static_cast<std::int64_t>(bytes_of(p.dtype));
  const double once = shard_bytes(4 * one, p.ranks());
  LayerPrice price{.forward = once, .forward_collectives = 4};
  price.forward_words = "to heads and back to tokens";
  const bool goes_back = p.walk == LayerWalk::whole;
  if (goes_back) {
    price.backward = once;
    price.backward_collectives = 4;
    price.backward_words = "the same for the gradients";
  }
  const double right = once + (goes_back ? once : 0), others = p.ranks() - 1;
  const Cause gathered{"gathered",
                       "whole tensors are gathered: a rank needs all tokens, but of its own heads "
                       "alone"};
  const auto bytes = static_cast<double>(one);
  for (const double more : {3 * others * bytes, 3 * others * bytes + shard_bytes(one, p.ranks()),
                            4 * others * bytes, right + others * bytes}) {
    price.mistakes.push_back({more, gathered});
  }
  check_layer_price(runner, played, p, price);
}

Question price(const std::vector<int>& counts, LayerWalk walk) {
  return checks.price(counts, check_cost, with(&Problem::walk, walk));
}

}  // namespace

Exam exam() {
  return {
      by_itself("on 1 to 8 and 13 ranks, output and gradient are those of one device",
                checks.every_size()),
      {"any number of samples, heads and tokens, which the ranks need not divide", any_size},
      {"several passes in flight, two halves, inference, float32; in a subgroup, "
       "twice",
       in_turn(other_walks, checks.types({DType::float32}), checks.twice_in_a_subgroup())},
      {"NaN, infinity and zeros go where attention takes them",
       checks.odd_values(2, with(&Problem::tokens, 5))},
      {"heads, lengths and shapes that do not fit are refused before anything is sent", refused},
      checks.lost_peers(3),
      of_cost("to heads and back: of four tensors, a rank keeps 1/N and sends the rest once",
              in_turn(price({2, 4}, LayerWalk::inference), price({2, 4, 1}, LayerWalk::whole))),
  };
}

}  // namespace lockstep::grader::ulysses_attention
