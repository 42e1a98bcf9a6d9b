// The exam of parallel_attention: whose rows of the fused projection are whose, and the layer. A
// rank is given the weights of its heads and no others; the judge attends with all of them.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/12_tensor_parallel/parallel_attention/dense.hpp"

namespace lockstep::grader::parallel_attention {
namespace {

using tensor_parallel::RowRange;

enum class Expected : std::uint8_t { answers, refusals };

// Questions to qkv_rows, in one case.
struct RowsProblem {
  Members members = whole_world(1);
  std::vector<RowsQuestion> questions;
  Expected expected = Expected::answers;
  std::uint64_t schedule_seed = 0;

  std::string description() const {
    return text(counted(std::ssize(questions), "question"), " to qkv_rows",
                expected == Expected::refusals ? " that it must refuse" : "");
  }
};
using RowsAnswers = std::vector<RowsAnswer>;
using RowsContract = RanksContract<RowsProblem, LayerCase, RowsAnswers>;

std::string text_of(const RowsQuestion& q) {
  return text("width ", q.width, ", ", counted(q.heads, "head"), ", rank ", q.rank, " of ",
              q.ranks);
}
std::string text_of(const RowRange& range) {
  return text("[", range.first, ", ", range.first + range.count, ")");
}

// The error names the numbers of heads below and above that the ranks divide.
bool names_nearest(const RowsQuestion& q, const std::string& what) {
  const std::int64_t below = q.heads / q.ranks * q.ranks;
  return what.find(text(below + q.ranks)) != std::string::npos &&
         (below == 0 || what.find(text(below)) != std::string::npos);
}

const Cause wrong_rows{
    "other_rows",
    "rank r has heads r·H/t to (r+1)·H/t, which are C/t rows of queries, and as many of keys "
    "and of values behind C and 2·C"};

void check_rows(CaseRunner& runner, const Played& played, const RowsQuestion& q,
                const RowsAnswer& seen) {
  if (seen.ending.kind != Ending::Kind::returned) {
    Failure failure{.cause = "refused",
                    .message = text("qkv_rows refuses ", text_of(q), ": ", seen.ending.what),
                    .where = text_of(q)};
    runner.fail(played, failure);
  }
  const std::int64_t own = q.width / q.ranks, first = q.rank * own;
  const RowRange right[] = {{first, own}, {q.width + first, own}, {2 * q.width + first, own}};
  const RowRange given[] = {seen.queries, seen.keys, seen.values};
  const char* const names[] = {"queries", "keys", "values"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (given[k] == right[k]) continue;
    runner.fail(played, because(wrong_rows,
                                {.message = text("the rows of the ", names[k], " are ",
                                                 text_of(given[k]), " where ", text_of(right[k]),
                                                 " is right, for ", text_of(q)),
                                 .expected = text_of(right[k]),
                                 .seen = text_of(given[k]),
                                 .where = text_of(q)}));
  }
}

void compare_rows(CaseRunner& runner, const Played& played, const RowsProblem& p, std::uint64_t,
                  const std::vector<RowsAnswers>& of_ranks) {
  const RowsAnswers& answers = of_ranks.at(0);
  if (answers.size() != p.questions.size()) throw MalformedMessage("not an answer a question");
  for (std::size_t k = 0; k < answers.size(); ++k) {
    const RowsQuestion& q = p.questions[k];
    const Ending& ending = answers[k].ending;
    if (p.expected == Expected::answers) {
      check_rows(runner, played, q, answers[k]);
      continue;
    }
    if (ending.kind != Ending::Kind::threw_expected) {
      runner.fail(played, wrong_ending(ending, "ContractError", text_of(q)));
    }
    const bool divides = q.heads > 0 && q.heads % q.ranks == 0;
    const bool sizes_fit = q.heads > 0 && q.width % q.heads == 0;
    if (divides || !sizes_fit || names_nearest(q, ending.what)) continue;
    runner.fail(played,
                because({"no_nearest", "equal_share says so by itself"},
                        {.message = text("the error for ", text_of(q),
                                         " does not name the nearest numbers of heads that ",
                                         q.ranks, " ranks divide: ", ending.what),
                         .where = text_of(q)}));
  }
}

void judge_rows(CaseRunner& runner, std::vector<RowsQuestion> questions,
                Expected expected = Expected::answers) {
  const RowsContract contract{
      .case_of = [](const RowsProblem& p, std::uint64_t,
                    int) { return LayerCase{.options = options_of(p.questions)}; },
      .compare = compare_rows};
  judge(runner, contract, RowsProblem{.questions = std::move(questions), .expected = expected});
}

void rows(CaseRunner& runner) {
  judge_rows(runner, {{8, 4, 2, 0}, {8, 4, 2, 1}});
  std::vector<RowsQuestion> all;
  for (const int ranks : rank_counts) {
    const std::int64_t heads = ranks * runner.draw_between(1, 4);
    for (int rank = 0; rank < ranks; ++rank) {
      all.push_back({heads * runner.draw_between(1, 9), heads, ranks, rank});
    }
  }
  all.push_back({12'288, 96, 8, 7});
  judge_rows(runner, all);
}

void refused_rows(CaseRunner& runner) {
  judge_rows(runner, {{100, 10, 4, 0}, {70, 7, 3, 2}, {64, 16, 17, 0}, {24, 12, 7, 3}},
             Expected::refusals);
  judge_rows(runner, {{10, 4, 2, 0}, {8, 4, 2, 2}, {8, 4, 2, -1}, {8, 0, 2, 0}},
             Expected::refusals);
}

void fewer_heads(const Problem& p, std::vector<Problem>& offered) {
  if (p.heads > p.ranks()) offered.emplace_back(p).heads = p.ranks();
}

const RanksChecks checks(
    layer_contract<Problem>(layer_of, smaller_layer_by(&Problem::heads, down_to(&Problem::batch, 1),
                                                       one_less(&Problem::tokens), fewer_heads)),
    [](Problem& p) {
      const int n = p.ranks();
      p.heads = n <= 4 ? 2 * n : n;
      p.head_size = n <= 4 ? 2 * n : 2;
      if (n > 6) p.batch = 1;
    });

void any_size(CaseRunner& runner) {
  for (const auto& [batch, tokens, heads, size] :
       {std::tuple{1, 1, 3, 1}, {1, 7, 6, 1}, {3, 2, 3, 5}, {2, 5, 9, 2}}) {
    Problem p = checks.usual(runner, 3);
    p.batch = batch;
    p.tokens = tokens;
    p.heads = heads;
    p.head_size = size;
    checks.ask(runner, p);
  }
}

void other_walks(CaseRunner& runner) {
  Problem p = checks.usual(runner, 3);
  p.back = {2, 0, 1};
  checks.ask(runner, p);
  p.walk = LayerWalk::in_halves;
  p.back = {0, 1};
  checks.ask(runner, p);
  checks.ask(runner, 2, with(&Problem::walk, LayerWalk::inference));
  checks.ask(runner, 4, with(&Problem::input, LayerInput::constant));
}

// A softmax in blocks multiplies what is not finite by 0 for earlier tokens.
void one_token_each(Problem& p) {
  p.batch = 3;
  p.tokens = 1;
}

void refused(CaseRunner& runner) {
  for (const auto& [misfit, ranks, heads] : {std::tuple{Misfit::heads, 2, 3},
                                             {Misfit::heads, 4, 2},
                                             {Misfit::input, 2, 4},
                                             {Misfit::projection, 2, 4}}) {
    Problem p = checks.usual(runner, ranks);
    p.walk = LayerWalk::refused;
    p.misfit = misfit;
    p.heads = heads;
    p.head_size = 4;
    checks.ask(runner, p);
  }
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const double once =
      ring_bytes(p.rows() * p.width() * static_cast<std::int64_t>(bytes_of(p.dtype)), p.ranks());
  LayerPrice price{.forward = once, .forward_collectives = 1};
  price.forward_words = "one all-reduce forward";
  if (p.input == LayerInput::wanted) {
    price.backward = once;
    price.backward_collectives = 1;
    price.backward_words = "one all-reduce backward";
  }
  const double right = price.forward + (p.walk == LayerWalk::whole ? price.backward : 0);
  price.mistakes = {
      {right + once / 2,
       {"heads_gathered",
        "a tensor of [B, T, C] is gathered: heads need nothing of each other, and the projection "
        "back takes this rank's columns alone"}},
      {right + once,
       {"reduced_again",
        "one all-reduce is enough in each direction, and none backward where nothing wants the "
        "gradient of x"}}};
  check_layer_price(runner, played, p, price);
}

void cost(CaseRunner& runner) {
  for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
    checks.on({2, 4}, with(&Problem::walk, walk), check_cost)(runner);
  }
  checks.ask(runner, 2, with(&Problem::input, LayerInput::constant), check_cost);
  checks.price({1}, check_cost, with(&Problem::tokens, 20))(runner);
}

}  // namespace

Exam exam() {
  return {
      {"qkv_rows: queries, keys and values of a rank's heads", rows},
      {"qkv_rows refuses what does not divide, and names the nearest numbers of heads",
       refused_rows},
      by_itself("on 1 to 8 and 13 ranks, the layer and its gradients are those of one device",
                checks.every_size()),
      {"any number of samples, tokens and heads of any size", any_size},
      {"several passes in flight, two halves, inference, constants, float32; in a subgroup, "
       "twice",
       in_turn(other_walks, constants_of(checks), checks.types({DType::float32}),
               checks.twice_in_a_subgroup())},
      {"NaN, infinity and zeros go where attention takes them",
       checks.odd_values(2, one_token_each)},
      {"heads and shapes that do not fit are refused before anything is sent", refused},
      checks.lost_peers(3),
      of_cost("one all-reduce forward and one backward, and no heads are gathered", cost),
  };
}

}  // namespace lockstep::grader::parallel_attention
