// The exam of zero_1_optimizer. A rank is given the state of its own range and no other, so no rank
// can compute what the owners of other ranges do. The judge takes the steps on one device. It
// counts the bytes that travel, and looks at the memory of the processes.
#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/11_sharding/zero_1_optimizer/cost.hpp"

namespace lockstep::grader::zero_1_optimizer {
namespace {

using Contract = RanksContract<Problem, Zero1Case, Zero1Report, MomentService>;
using Reports = std::vector<Zero1Report>;

std::string name_of_place(const Problem& p, std::size_t at) {
  std::int64_t left = static_cast<std::int64_t>(at);
  for (std::size_t i = 0; i < p.sizes.size(); ++i) {
    if (left < p.sizes[i]) return text("element ", left, " of parameter ", i);
    left -= p.sizes[i];
  }
  return text("element ", at);
}

// A value that no usual mistake gives: another element's, or one that its owner has right, or whose
// moments are right.
Cause narrowed_down(const Problem& p, std::uint64_t salt, const Trained& trained, std::size_t step,
                    int rank, std::size_t at, double seen, const Reports& reports,
                    std::size_t reported) {
  const Dealt deal = deal_of(p.plan(), p.sizes);
  const auto& right = trained.values[step];
  const auto tolerance = tolerance_of(p, right);
  int owner = 0;
  std::ptrdiff_t in_range = 0;
  for (int r = 0; r < p.ranks(); ++r) {
    const auto places = deal.places(r);
    const auto found = std::ranges::find(places, static_cast<std::int64_t>(at));
    if (found != places.end()) owner = r, in_range = found - places.begin();
  }
  const auto& report = reports[static_cast<std::size_t>(owner)];
  const auto of_owner = as_doubles(p.dtype, report.values.at(reported));
  const bool owner_has_it =
      of_owner.size() == right.size() && std::fabs(of_owner[at] - right[at]) <= tolerance[at];
  for (std::size_t e = 0; e < right.size(); ++e) {
    if (std::fabs(seen - right[e]) > tolerance[e]) continue;
    return {"gathered_elsewhere",
            text("this is what ", name_of_place(p, e),
                 " should be: a piece was copied to another place than it came from")};
  }
  if (owner != rank && owner_has_it) {
    return {"gathered_elsewhere", text("its owner, rank ", owner,
                                       ", has it right: take over all that was gathered, also of "
                                       "parameters without a gradient here, where the pieces say")};
  }
  const std::string by = text("rank ", owner, ", its owner, has it wrong");
  const auto wrong = [&](const Bytes& shard, const std::vector<double>& moment) {
    const auto mine = as_doubles(p.dtype, shard);
    const auto i = static_cast<std::size_t>(in_range);
    return i >= mine.size() || std::fabs(mine[i] - moment[at]) > tolerance_of(p, moment)[at];
  };
  if (!wrong(report.first, first_moment(p, salt)) &&
      !wrong(report.second, second_moment(p, salt))) {
    return {"piece_left_out", text(by,
                                   ", and its moments are those that were given: this piece "
                                   "of its range was not updated")};
  }
  const bool coupled = p.weight_decay != 0 && p.decay_form == DecayForm::coupled;
  if (wrong(report.first, trained.first) || wrong(report.second, trained.second)) {
    return {"other_gradient",
            text(by,
                 ", and so is one of its moments, so it is no matter of gathering: look at the "
                 "gradient",
                 coupled ? ", the decay that is added to it," : "",
                 " and the moments that go into its update, which are at piece.offset of the "
                 "range, and at the rule's β")};
  }
  return {
      "other_update",
      text(by,
           ", but both of its moments are right: so the gradient was right, and the mistake is in "
           "the step from the moments to the parameter (the rule, or the number of updates)")};
}

// The parameters of a rank after a step, which are those of one device, bit for bit the same on all
// ranks.
void check_values(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  std::size_t step, const Trained& trained, const Reports& reports,
                  std::size_t reported) {
  const std::vector<double>& right = trained.values[step];
  std::vector<double> rank_zero;
  std::optional<Cause> not_finite;
  if (p.held == Held::large) not_finite = overflowing_sum(p.ranks(), p.dtype);
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto seen =
        as_doubles(p.dtype, reports[static_cast<std::size_t>(rank)].values.at(reported));
    const std::string where = text("rank ", rank, ", step ", step + 1);
    if (seen.size() != right.size()) {
      runner.fail(played, {.cause = "wrong_size",
                           .message = text("rank ", rank, " has parameters of ", seen.size(),
                                           " elements where the model has ", right.size()),
                           .where = where});
    }
    check_numbers(runner, played, seen,
                  {.dtype = p.dtype,
                   .values = right,
                   .tolerance = tolerance_of(p, right),
                   .name =
                       [&](std::size_t at) {
                         return text("after step ", step + 1, ", ", name_of_place(p, at));
                       },
                   .whose = "Adam on one device has",
                   .where = where,
                   .not_finite = not_finite,
                   .cause =
                       [&](std::size_t at) {
                         return narrowed_down(p, salt, trained, step, rank, at, seen[at], reports,
                                              reported);
                       }});
    if (rank == 0) rank_zero = seen;
    const auto at = first_other_bits(seen, rank_zero);
    if (!at) continue;
    runner.fail(played,
                because({"replicas_differ",
                         "two ranks update the same elements, each in its own way; an element has "
                         "one owner, and the others take the owner's bits"},
                        {.message = text("after step ", step + 1, ", ", name_of_place(p, *at),
                                         " is ", number_at(rank_zero, *at), " on rank 0 and ",
                                         number_at(seen, *at), " on rank ", rank),
                         .expected = "the same bits on every rank",
                         .where = where}));
  }
}

void check_state(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                 const Trained& right, const Reports& reports) {
  const Dealt deal = deal_of(p.plan(), p.sizes);
  const Cause old{"state_old",
                  "state() returns what the optimizer was given, and not what steps made of it"};
  const auto check = [&](const char* name, std::vector<double> Trained::*moment,
                         Bytes Zero1Report::*shard, const std::vector<double>& given) {
    const std::vector<double>& whole = right.*moment;
    std::vector<Bytes> pieces;
    for (const Zero1Report& report : reports) pieces.push_back(report.*shard);
    check_pieces(runner, played, deal,
                 {.name = text("the ", name, " moment after ", counted(p.steps, "step")),
                  .dtype = p.dtype,
                  .whole = whole,
                  .tolerance = tolerance_of(p, whole),
                  .mistakes = {{old, given}},
                  .otherwise = {"other_state",
                                "the parameters are right, but state() does not return the state "
                                "that they were updated with"}},
                 pieces);
  };
  check("first", &Trained::first, &Zero1Report::first, first_moment(p, salt));
  check("second", &Trained::second, &Zero1Report::second, second_moment(p, salt));
  const std::int64_t updates = updates_given(salt) + p.steps;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const std::int64_t seen = reports[static_cast<std::size_t>(rank)].updates;
    if (seen == updates) continue;
    runner.fail(played,
                {.cause = "other_updates",
                 .message = text("the parameters and moments are right, but the state of rank ",
                                 rank, " counts ", seen, " updates where it had ",
                                 updates_given(salt), " before and ", counted(p.steps, "step"),
                                 " since: ", updates, " are right"),
                 .expected = text(updates),
                 .seen = text(seen),
                 .where = text("rank ", rank)});
  }
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports, const MomentService&) {
  const Trained right = train(p, salt);
  const std::size_t steps = p.measured ? 1 : right.values.size();
  for (const Zero1Report& report : reports) {
    if (report.values.size() != steps) throw MalformedMessage("not a report a step");
  }
  for (std::size_t k = 0; k < steps; ++k) {
    const std::size_t step = right.values.size() - steps + k;
    check_values(runner, played, p, salt, step, right, reports, k);
  }
  check_state(runner, played, p, salt, right, reports);
}

const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of =
        [](const Problem&, std::uint64_t, int, const Zero1Case& c, Situations& asked) {
          for (const Gradients& step : c.steps) grader::ask_of(step, asked);
          if (c.steps.front().dtype == DType::float32) asked.insert(Situation::every_dtype);
        },
    .smaller = smaller_by(fewer_ranks, down_to(&Problem::steps, 1), shorter(&Problem::sizes, 2)),
    .services =
        [](CaseRunner& runner, const Problem& p, std::uint64_t) {
          using Measures = MomentService::Measures;
          return std::tuple(MomentService(runner, p.members, static_cast<std::size_t>(p.steps),
                                          p.measured ? Measures::both : Measures::nothing));
        }};

const RanksChecks checks(contract);

void any_plan(CaseRunner& runner) {
  const auto ask = [&](int ranks, const std::vector<std::int64_t>& sizes, Cuts cuts) {
    checks.ask(runner, ranks, [&](Problem& p) { p.sizes = sizes, p.cuts = cuts; });
  };
  ask(3, {35, 12, 1, 64, 72, 13}, Cuts::rows);
  ask(4, {35, 12, 1, 64, 72, 13}, Cuts::whole);
  ask(2, {9, 0, 4, 0, 24}, Cuts::rows);
  ask(4, {3, 2}, Cuts::flat);  // one rank's range is all padding
  ask(5, {1, 0, 1}, Cuts::flat);
  ask(3, {5}, Cuts::whole);
  ask(3, {100}, Cuts::flat);  // one parameter on three ranks
}

void decay(CaseRunner& runner) {
  for (const DecayForm form : {DecayForm::coupled, DecayForm::decoupled}) {
    for (const Cuts cuts : {Cuts::flat, Cuts::rows}) {
      checks.ask(runner, 3, [&](Problem& p) {
        p.weight_decay = 0.5;
        p.decay_form = form;
        p.cuts = cuts;
      });
    }
  }
}

// Moments of 6 MB, of which a rank holds a quarter; a buffer as large as the model is more than
// memory is measured to. What the first step let go must not be missed in the second one.
void large_moments(Problem& p) {
  p.sizes = {270'000, 30, 130'000};
  p.steps = 2;
  p.measured = true;
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, parameters and state are those of Adam on one device",
       checks.every_size()},
      {"any plan: rows, whole parameters, a parameter on three ranks, a range of padding alone",
       any_plan},
      {"ten steps in a subgroup, twice; and float32",
       in_turn(checks.twice_in_a_subgroup(with(&Problem::steps, 10)),
               checks.types({DType::float32}))},
      {"each piece is decayed as its own parameter, in the form that the rule says", decay},
      {"a gradient that is missing counts as zeros",
       checks.on({2, 3}, with(&Problem::missing, true))},
      {"NaN and infinity on one rank arrive on all, zeros are gradients, too, and no sum overflows "
       "of which the mean fits",
       in_turn(checks.odd_values(), checks.large_values())},
      checks.lost_peers(4),
      of_cost("between steps, a rank holds the state of its own range, and within one a buffer as "
              "large as the model besides",
              checks.then(check_cost).on({4}, large_moments)),
      of_cost("a step moves 2(N-1)/N of the model: gradients to their owners, parameters to all",
              checks.price({2, 3, 8, 1}, check_bytes, with(&Problem::sizes, {300, 24, 72, 1}))),
  };
}

}  // namespace lockstep::grader::zero_1_optimizer
