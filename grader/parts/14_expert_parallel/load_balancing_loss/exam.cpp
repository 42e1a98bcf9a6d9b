// The exam of load_balancing_loss: ranks with tokens of their own, whose shares count together.
#include "engine/base/units.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_number.hpp"
#include "grader/parts/14_expert_parallel/load_balancing_loss/oracle.hpp"

namespace lockstep::grader::load_balancing_loss {
namespace {

using Reports = std::vector<BalancingReport>;

BalancingCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  const Given given = given_of(p, salt);
  BalancingCase one{.dtype = p.dtype,
                    .shape = {p.tokens[at(rank)], p.experts},
                    .probabilities = to_bytes(p.dtype, given.probabilities[at(rank)]),
                    .first_choices = given.choices[at(rank)],
                    .alpha = p.alpha,
                    .refused = p.misfit != Misfit::nothing};
  if (p.misfit == Misfit::choice_missing) one.first_choices.pop_back();
  if (p.misfit == Misfit::flat) one.shape = {p.tokens[at(rank)] * p.experts};
  if (p.misfit == Misfit::expert_below) one.first_choices.back() = -1;
  if (p.misfit == Misfit::expert_behind) one.first_choices.back() = p.experts;
  return one;
}

// Every rank says so, and before anything is sent.
void check_refused(CaseRunner& runner, const Played& played, const Problem& p,
                   const Reports& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].ending.kind == Ending::Kind::threw_expected) continue;
    runner.fail(played, wrong_ending(reports[rank].ending, "ContractError",
                                     text("rank ", rank, " (", p.description(), ")")));
  }
  const double sent = busiest_rank_bytes(played.counters);
  if (sent == 0) return;
  runner.fail(played, because({"sent_before_refusing",
                               "the arguments are looked at too late: before the first collective, "
                               "no other rank has to wait"},
                              {.message = text("a rank sent ", whole_bytes(sent),
                                               " bytes before it threw ContractError"),
                               .expected = "0 bytes",
                               .seen = text(whole_bytes(sent), " bytes")}));
}

bool is_near(double seen, double right, double share = 1e-12) {
  const double tolerance = share * std::fabs(right);
  return !first_difference({&seen, 1}, {&right, 1}, {&tolerance, 1});
}

Cause cause_of_loss(double seen, double right) {
  if (const auto odd = cause_by_finiteness({&seen, 1}, {&right, 1}, 0)) return *odd;
  if (is_near(seen, right, 0.02)) {
    return {"rounded",
            "sums were rounded to a smaller type on the way; add up in float64, and make "
            "the tensor that is reduced of float64"};
  }
  return with_relation(
      {"other_loss",
       "it is alpha·E·Σ f·P, where f and P divide the sums over all ranks' tokens by the number "
       "of all tokens"},
      seen, right);
}

void check_loss(CaseRunner& runner, const Played& played, const Problem& p, const Given& given,
                const Reports& reports, int rank) {
  const double seen = reports[at(rank)].loss, right = right_balance(p, given, rank).loss;
  const std::string where = text("rank ", rank, ", loss");
  if (!is_near(seen, right)) {
    runner.fail(played, because(cause_of_loss(seen, right),
                                {.message = text("the loss on rank ", rank, " is ", number(seen),
                                                 " where ", number(right), " is right"),
                                 .expected = number(right),
                                 .seen = number(seen),
                                 .where = where}));
  }
  const double first = reports.front().loss;
  if (!first_other_bits({&seen, 1}, {&first, 1})) return;
  const std::string both = text(number(first), " on rank 0, ", number(seen), " on rank ", rank);
  runner.fail(played, because({"bits_differ", "a rank adds something up in its own order"},
                              {.message = text("the losses differ in their last bits: ", both),
                               .expected = "the same bits on every rank",
                               .seen = both,
                               .where = where}));
}

void check_gradient(CaseRunner& runner, const Played& played, const Problem& p, const Given& given,
                    const BalancingReport& report, int rank) {
  const std::string where = text("rank ", rank, ", gradient");
  const std::vector<std::int64_t> shape{p.tokens[at(rank)], p.experts};
  if (report.shape != shape || report.dtype != p.dtype) {
    const auto shown = [](const std::vector<std::int64_t>& sizes, DType dtype) {
      return sizes.empty() ? std::string("nothing") : text(listed(sizes), " of ", name_of(dtype));
    };
    runner.fail(played, {.cause = "wrong_shape",
                         .message = text("the loss is right, but the gradient on rank ", rank,
                                         " is ", shown(report.shape, report.dtype), " where ",
                                         shown(shape, p.dtype), " is right"),
                         .expected = shown(shape, p.dtype),
                         .seen = shown(report.shape, report.dtype),
                         .where = where});
  }
  const auto seen = as_doubles(p.dtype, report.gradient);
  const Numbers right = right_balance(p, given, rank).gradient;
  const double share = std::max(1e-12, 2 * epsilon_of(p.dtype));
  // Slopes of many tokens are below float16's smallest normal number, where its steps are these.
  const double least = p.dtype == DType::float16 ? 0x1p-24 : 0;
  Numbers tolerance;
  for (const double value : right) tolerance.push_back(std::max(share * std::fabs(value), least));
  const auto wrong = first_difference(seen, right, tolerance);
  if (!wrong) return;
  const Cause cause{"other_gradient",
                    "for each token, it is alpha·E·f divided by the number of all tokens; f "
                    "counts the first choices that were given, not the largest probabilities"};
  const std::int64_t element = static_cast<std::int64_t>(*wrong);
  runner.fail(played,
              because(cause, {.message = text("the loss is right, but the gradient of token ",
                                              element / p.experts, "'s probability of expert ",
                                              element % p.experts, " on rank ", rank, " is ",
                                              number_at(seen, *wrong, p.dtype), " where ",
                                              number_at(right, *wrong, p.dtype), " is right"),
                              .expected = number_at(right, *wrong, p.dtype),
                              .seen = number_at(seen, *wrong, p.dtype),
                              .where = where}));
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports) {
  if (p.misfit != Misfit::nothing) return check_refused(runner, played, p, reports);
  const Given given = given_of(p, salt);
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_loss(runner, played, p, given, reports, rank);
  }
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_gradient(runner, played, p, given, reports[at(rank)], rank);
    if (!reports[at(rank)].changed) continue;
    runner.fail(played, because({"changed",
                                 "a collective writes where it reads: reduce a tensor of your own"},
                                {.message = text("the probabilities on rank ", rank,
                                                 " are not those any more that were given"),
                                 .expected = "unchanged",
                                 .where = text("rank ", rank)}));
  }
}

void ask_of(const Problem& p, std::uint64_t salt, int rank, const BalancingCase&,
            Situations& asked) {
  ask_of_values(given_of(p, salt).probabilities[at(rank)], asked);
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
  asked.insert(Situation::double_digits);
}

std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  if (p.misfit != Misfit::nothing) return offered;
  for (int ranks = 1; ranks < p.ranks(); ++ranks) {
    Problem& few = offered.emplace_back(p);
    few.members = whole_world(ranks);
    few.tokens.resize(at(ranks));
    if (few.tokens == std::vector<std::int64_t>(at(ranks), 0)) offered.pop_back();
  }
  if (p.experts > 2) offered.emplace_back(p).experts = 2;
  return offered;
}

const RanksContract<Problem, BalancingCase, BalancingReport> contract{
    .case_of = case_of, .compare = compare, .ask_of = ask_of, .smaller = smaller};

const RanksChecks checks(contract, [](Problem& p) { p.tokens.assign(at(p.ranks()), 6); });

void one_a_rank(Problem& p) {
  p.kind = Tokens::one_a_rank;
  p.experts = 3;
}

void unequal(CaseRunner& runner) {
  for (const std::vector<std::int64_t>& tokens :
       {std::vector<std::int64_t>{9, 2, 5}, {7, 0, 3}, {0, 0, 1}, {0, 5}}) {
    checks.ask(runner, static_cast<int>(tokens.size()), [&](Problem& p) { p.tokens = tokens; });
  }
}

void one_expert(Problem& p) {
  p.tokens = {4, 7, 1};
  p.experts = 1;
}

// One all-reduce of counts, sums and the number of tokens, or two.
void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  check_operations(runner, played,
                   {.collectives = 2, .allowed = "one all-reduce of all sums, or two,"});
  constexpr std::int64_t width = sizeof(double);
  const double sums = ring_bytes((2 * p.experts + 1) * width, p.ranks());
  const double all = (p.ranks() - 1) * static_cast<double>(p.tokens.front() * p.experts * width);
  const Cause gathered{"gathered",
                       "the probabilities of all tokens travel; each rank can add up its own, and "
                       "send one sum for each expert"};
  check_wire(runner, played,
             {.enough = sums,
              .of_what = "an all-reduce of 2·E + 1 numbers",
              .mistakes = {{all, gathered}, {all + sums, gathered}}});
}

}  // namespace

Exam exam() {
  return {
      {"alpha where all experts are chosen alike, and E times that where one has all tokens",  // On
                                                                                               // one
                                                                                               // rank:
                                                                                               // what
                                                                                               // ranks
                                                                                               // do
                                                                                               // wrong
                                                                                               // together
                                                                                               // shows
                                                                                               // in
                                                                                               // the
                                                                                               // next
                                                                                               // check.
       checks.each(1, &Problem::kind, {Tokens::alike, Tokens::to_one},
                   with(&Problem::tokens, {8}))},
      {"on 1 to 8 and 13 ranks, shares are summed over all ranks before the product",
       in_turn(checks.on({3}, one_a_rank), checks.every_size())},
      {"ranks with other numbers of tokens, and with none; in a subgroup, twice",
       in_turn(unequal, checks.twice_in_a_subgroup(one_expert))},
      {"probabilities of any type are added up in float64",
       checks.types({DType::float32, DType::bfloat16, DType::float16}, 2,
                    with(&Problem::tokens, {301, 40}))},
      {"NaN, infinity and zeros show in the loss", checks.odd_values(2)},
      {"what does not fit is refused before anything is sent",
       checks.each(
           2, &Problem::misfit,
           {Misfit::choice_missing, Misfit::flat, Misfit::expert_below, Misfit::expert_behind})},
      checks.lost_peers(3, 8),
      of_cost(
          "2·E + 1 numbers are reduced, in one collective or two",
          in_turn(checks.on(
                      {2, 4}, [](Problem& p) { p.tokens.assign(p.tokens.size(), 64); }, check_cost),
                  checks.price({1}, check_cost))),
  };
}

}  // namespace lockstep::grader::load_balancing_loss
