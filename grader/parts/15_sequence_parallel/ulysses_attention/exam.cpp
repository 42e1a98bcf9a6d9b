// The exam of ulysses_attention. A rank is given its tokens of queries, keys and values, of all
// heads. The judge attends on one device, and counts what travels.
#include "engine/base/units.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/parts/15_sequence_parallel/ulysses_attention/problem.hpp"

namespace lockstep::grader::ulysses_attention {
namespace {

std::vector<Problem> smaller(const Problem& p) {
  if (p.walk == LayerWalk::refused) return {};
  std::vector<Problem> offered = smaller_layers(p, p.heads);
  if (p.batch > 1) offered.emplace_back(p).batch = 1;
  if (p.head_size > 1) offered.emplace_back(p).head_size = 1;
  if (p.heads > p.ranks()) offered.emplace_back(p).heads = p.ranks();
  if (p.tokens > p.ranks()) offered.emplace_back(p).tokens = p.tokens - 1;
  return offered;
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

LayerContract<Problem> contract_of(CaseRunner& runner) {
  auto contract = layer_contract<Problem>(runner, layer_of, smaller);
  contract.compare = [compared = contract.compare](
                         CaseRunner& at, const Played& played, const Problem& p, std::uint64_t salt,
                         const LayerReports& reports, const LayerService& seen) {
    compared(at, played, p, salt, reports, seen);
    if (p.misfit == Misfit::heads) check_nearest(at, played, p, reports);
  };
  return contract;
}

Problem usual(CaseRunner& runner, int ranks) {
  Problem p;
  p.members = whole_world(ranks);
  p.heads = ranks <= 4 ? 2 * ranks : ranks;
  p.head_size = ranks <= 6 ? 3 : 2;
  p.tokens = 2 * ranks;
  if (ranks > 6) p.batch = 1;
  p.schedule_seed = runner.draw();
  return p;
}

void judge_usual(CaseRunner& runner, int ranks, const std::function<void(Problem&)>& change) {
  Problem p = usual(runner, ranks);
  change(p);
  judge(runner, contract_of(runner), p);
}

void any_size(CaseRunner& runner) {
  for (const auto& [batch, tokens, heads, size] :
       {std::tuple{1, 3, 3, 1}, {1, 8, 6, 1}, {3, 7, 3, 5}, {2, 4, 9, 2}, {4, 11, 3, 2}}) {
    judge_usual(runner, 3, [&](Problem& p) {
      p.batch = batch;
      p.tokens = tokens;
      p.heads = heads;
      p.head_size = size;
    });
  }
}

void other_walks(CaseRunner& runner) {
  judge_usual(runner, 3, [](Problem& p) { p.back = {2, 0, 1}; });
  judge_usual(runner, 3, [](Problem& p) {
    p.walk = LayerWalk::in_halves;
    p.back = {0, 1};
  });
  judge_usual(runner, 2, [](Problem& p) { p.walk = LayerWalk::inference; });
  judge_usual(runner, 3, [](Problem& p) { p.dtype = DType::float32; });
  Problem p = usual(runner, 3);
  p.members = {8, {6, 1, 4}};
  play_twice(runner, contract_of(runner), p);
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    for (const auto where : {LayerProblem::Where::input, LayerProblem::Where::gradient}) {
      judge_usual(runner, 2, [&](Problem& p) {
        p.odd = odd;
        p.odd_in = where;
        p.tokens = 5;
      });
    }
  }
}

void refused(CaseRunner& runner) {
  for (const auto& [misfit, ranks, heads, tokens] : {std::tuple{Misfit::heads, 2, 3, 6},
                                                     {Misfit::heads, 4, 2, 8},
                                                     {Misfit::heads, 3, 40, 6},
                                                     {Misfit::few, 4, 4, 3},
                                                     {Misfit::slice, 2, 4, 6},
                                                     {Misfit::columns, 2, 4, 6}}) {
    judge_usual(runner, ranks, [&](Problem& p) {
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

void cost(CaseRunner& runner) {
  const auto judge_cost = [&](int ranks, LayerWalk walk, const Situations& asked) {
    Problem p = usual(runner, ranks);
    p.walk = walk;
    judge(runner, contract_of(runner), p, check_cost, asked);
  };
  for (const int ranks : {2, 4}) {
    judge_cost(ranks, LayerWalk::inference, {});
    judge_cost(ranks, LayerWalk::whole, {});
  }
  judge_cost(1, LayerWalk::whole, {Situation::price_at_the_extremes});
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, output and gradient are those of one device",
       [](CaseRunner& runner) {
         for (const int n : rank_counts) judge(runner, contract_of(runner), usual(runner, n));
       },
       std::vector<std::size_t>{}},
      {"any number of samples, heads and tokens, which the ranks need not divide", any_size},
      {"several passes in flight, two halves, inference, float32; in a subgroup, "
       "twice",
       other_walks},
      {"NaN, infinity and zeros go where attention takes them", odd_values},
      {"heads, lengths and shapes that do not fit are refused before anything is sent", refused},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) { judge_lost_peers(runner, contract_of(runner), usual(runner, 3)); },
       {},
       Asks::cost},
      {"to heads and back: of four tensors, a rank keeps 1/N and sends the rest once",
       cost,
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::ulysses_attention
