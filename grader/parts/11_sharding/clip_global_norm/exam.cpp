// The exam of clip_global_norm: one norm and one factor for a gradient in pieces. The judge has all
// pieces; a rank has its own, and what it cannot know without the others is what is asked.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/11_sharding/clip_global_norm/pieces.hpp"

namespace lockstep::grader::clip_global_norm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The place of a tensor of a list: those that are undefined are not in a call's lists.
std::vector<Bytes> defined_of(const std::vector<Bytes>& reported,
                              const std::vector<HeldPiece>& given) {
  if (reported.size() != given.size()) throw MalformedMessage("not a report a tensor");
  std::vector<Bytes> all;
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (given[k].defined) all.push_back(reported[k]);
  }
  return all;
}

void check_norm(CaseRunner& runner, const Played& played, const Problem& p, const Call& call,
                int rank, const ClipReport& report, const ClipReport& first) {
  const std::string where = text("rank ", rank, ", norm");
  if (!report.defined || report.dtype != DType::float64 || report.norm.size() != sizeof(double)) {
    const std::string seen = !report.defined ? "no tensor"
                                             : text(report.norm.size() / bytes_of(report.dtype),
                                                    " elements of ", name_of(report.dtype));
    runner.fail(played, {.cause = "no_norm",
                         .message = text("rank ", rank, " returned ", seen,
                                         "; the norm is one element of float64"),
                         .expected = "1 element of float64",
                         .seen = seen,
                         .where = where});
  }
  const double seen = as_doubles(DType::float64, report.norm).front();
  const double tolerance = 1e-12 * call.norm;  // sums of positive numbers in float64, and a root
  if (first_difference({&seen, 1}, {&call.norm, 1}, {&tolerance, 1})) {
    runner.fail(played,
                because(cause_of_norm(p, call, rank, seen),
                        {.message = text("rank ", rank, " returned the norm ", number(seen),
                                         ", but that of the whole gradient is ", number(call.norm)),
                         .expected = number(call.norm),
                         .seen = number(seen),
                         .where = where}));
  }
  const double other = as_doubles(DType::float64, first.norm).front();
  if (first_other_bits({&seen, 1}, {&other, 1})) {
    const std::string both = text(number(other), " on rank 0, ", number(seen), " on rank ", rank);
    runner.fail(played, because({"bits_differ", "each rank adds the squares in its own order"},
                                {.message = text("the norms of ranks 0 and ", rank,
                                                 " differ in their last bits: ", both),
                                 .expected = "the same bits on every rank",
                                 .seen = both,
                                 .where = where}));
  }
}

void check_list(CaseRunner& runner, const Played& played, const Problem& p, const Call& call,
                int rank, List list, const std::vector<Bytes>& reported) {
  const bool copies = list == List::copies;
  const Elements& before = (copies ? call.copies : call.counted)[static_cast<std::size_t>(rank)];
  const DType dtype = copies ? p.dtype_of_copies() : p.dtype;
  Elements all_seen;
  for (const Bytes& bytes : reported) all_seen.push_back(as_doubles(dtype, bytes));
  for (std::size_t k = 0; k < before.size(); ++k) {
    const std::vector<double>& seen = all_seen[k];
    std::vector<double> right = before[k], tolerance(right.size(), 0);
    for (std::size_t e = 0; e < right.size() && call.factor != 1; ++e) {
      right[e] *= call.factor;
      // The factor is rounded to the type, and so is the product; the norm has 12 digits.
      tolerance[e] = (2 * epsilon_of(dtype) + 2e-12) * std::fabs(right[e]);
    }
    const auto at = first_difference(seen, right, tolerance);
    if (!at) continue;
    const std::string name = text(copies ? "copy " : "counted tensor ", k);
    runner.fail(played,
                because(cause_of_values(call, rank, list, all_seen),
                        {.message = text("the norm is right, but element ", *at, " of ", name,
                                         " on rank ", rank, " is ", number_at(seen, *at, dtype),
                                         " where ", number_at(right, *at, dtype), " is right"),
                         .expected = number_at(right, *at, dtype),
                         .seen = number_at(seen, *at, dtype),
                         .where = text("rank ", rank, ", ", name, ", element ", *at),
                         .counters = {{"norm", call.norm}, {"max_norm", call.max_norm}}}));
  }
}

// A rank that counts nothing has to refuse, or, without a group, returns no norm.
void check_nothing(CaseRunner& runner, const Played& played, const Problem& p, int rank,
                   const ClipReport& report) {
  if (p.columns >= 0) {
    if (report.ending.kind == Ending::Kind::threw_expected) return;
    runner.fail(played, wrong_ending(report.ending, "ContractError",
                                     text("rank ", rank, ", which counts nothing")));
  }
  if (!report.defined) return;
  runner.fail(played, {.cause = "norm_of_nothing",
                       .message = "there is no gradient and no group, but a norm was returned; "
                                  "return an undefined tensor",
                       .expected = "no tensor",
                       .seen = "a norm"});
}

using Reports = std::vector<ClipReport>;  // of one rank, by call

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks) {
  for (std::size_t number = 0; number < p.bounds.size(); ++number) {
    const Call call = drawn_call(p, salt, number);
    const auto report_of = [&](int rank) -> const ClipReport& {
      const Reports& reports = of_ranks[static_cast<std::size_t>(rank)];
      if (reports.size() != p.bounds.size()) throw MalformedMessage("not a report a call");
      return reports[number];
    };
    for (int rank = 0; rank < p.size(); ++rank) {
      const ClipReport& report = report_of(rank);
      if (call.counted[static_cast<std::size_t>(rank)].empty()) {
        check_nothing(runner, played, p, rank, report);
        continue;
      }
      check_norm(runner, played, p, call, rank, report, report_of(0));
    }
    for (int rank = 0; rank < p.size(); ++rank) {
      const ClipReport& report = report_of(rank);
      const ClipCall given = case_of(p, salt, rank).calls[number];
      check_list(runner, played, p, call, rank, List::counted,
                 defined_of(report.counted, given.counted));
      check_list(runner, played, p, call, rank, List::copies,
                 defined_of(report.copies, given.copies));
    }
  }
}

void ask_of(const Problem& p, std::uint64_t salt, int rank, const ClipCase&, Situations& asked) {
  for (std::size_t number = 0; number < p.bounds.size(); ++number) {
    std::vector<double> all;
    bool scalar = false, cube = false;
    const Call call = drawn_call(p, salt, number);
    for (const auto& tensor : call.counted[static_cast<std::size_t>(rank)]) {
      all.insert(all.end(), tensor.begin(), tensor.end());
      scalar = scalar || tensor.size() == 1;
      cube = cube || (!tensor.empty() && tensor.size() % 6 == 0);
    }
    ask_of_values(all, asked);
    if (scalar && cube) asked.insert(Situation::shapes);
  }
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
}

const RanksContract<Problem, ClipCase, Reports> contract{
    .case_of = case_of, .compare = compare, .ask_of = ask_of};

const RanksChecks checks(contract);

std::function<void(Problem&)> with_shared(std::vector<std::int64_t> sizes) {
  return [sizes = std::move(sizes)](Problem& p) { p.layout.shared = sizes; };
}

// An all-reduce of one number over each group, and nothing of the gradients.
void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const int groups = p.columns > 0 ? p.size() / p.columns + p.columns : 1;
  const double sent = busiest_rank_bytes(played.counters);
  double allowed = 0;  // of every group: a number of each rank may come to all
  for (int group = 0; group < groups; ++group) allowed += 8.0 * (p.size() - 1);
  if (sent > allowed) {
    runner.fail(played,
                wasteful("gathered_pieces", sent, allowed, "per rank",
                         text("the result is right, but a rank sent ", whole_bytes(sent),
                              " bytes; likely cause: pieces of the gradient travel. Each rank "
                              "sums its own squares, and only that number is reduced")));
  }
  check_operations(
      runner, played,
      {.collectives = groups,
       .allowed = groups == 1 ? "one all-reduce of one number"
                              : text("one all-reduce in each of ", groups, " groups")});
}

void two_groups(CaseRunner& runner) {
  for (const auto& [rows, columns] : {std::pair{2, 2}, {2, 3}, {3, 2}, {1, 3}, {4, 1}}) {
    checks.ask(runner, rows * columns, [columns = columns](Problem& p) {
      p.columns = columns;
      p.layout.shared = {9};
    });
  }
}

void bounds(CaseRunner& runner) {
  for (const int n : {2, 1, 3}) {
    Problem p = checks.usual(runner, n, with_shared({4}));
    p.bounds = {1.5, infinity, 0, -1, 0.9};
    checks.ask(runner, p);
    p.scale = 1e-7;  // the norm is as small as the 1e-6 that is added to it
    p.bounds = {0.5, 4};
    checks.ask(runner, p);
  }
}

void wide_sums(CaseRunner& runner) {
  checks.types({DType::float32, DType::bfloat16, DType::float16}, 3, [](Problem& p) {
    p.layout = {.own = {40, 1, 333}, .shared = {12}};
  })(runner);
  checks.ask(runner, 2, [](Problem& p) {
    p.dtype = DType::float32, p.copies = DType::bfloat16;
    p.layout.shared = {12, 7};
  });
  for (const double scale : {1e25, 1e-25}) {
    checks.ask(runner, 2, [&](Problem& p) {
      p.dtype = DType::float32;
      p.scale = scale;
      p.bounds = {scale > 1 ? 0.3 : -1};
    });
  }
}

void odd_norms(CaseRunner& runner) {
  for (const int n : {3, 1}) {
    for (const Odd odd : every_odd) {
      if (n == 1 && odd == Odd::zeros) continue;
      checks.ask(runner, n, [&](Problem& p) {
        p.odd = odd;
        p.layout.shared = {5};
        p.bounds = {0.5, 0.5};
      });
    }
  }
}

void nothing_counted(CaseRunner& runner) {
  for (const int columns : {0, -1}) {
    checks.ask(runner, columns < 0 ? 1 : 2, [&](Problem& p) {
      p.columns = columns;
      p.layout.own = {-1};
    });
  }
}

void cost(CaseRunner& runner) {
  for (const int n : {1, 2, 8}) {
    checks.ask(runner, n, {}, check_cost, {Situation::price_at_the_extremes});
  }
  checks.ask(runner, 6, with(&Problem::columns, 3), check_cost);
  checks.ask(
      runner, 3, [](Problem& p) { p.layout.own.assign(40, 1000); }, check_cost);
}

}  // namespace

Exam exam() {
  return {
      {"pieces on several ranks are scaled as the whole on one, by one norm", checks.every_size()},
      {"what several ranks hold is counted by one of them, and scaled by all",
       checks.on({2, 3, 5}, with_shared({7, 24}))},
      {"pieces that are spread over two groups have one norm, also where a group is one rank",
       two_groups},
      {"a gradient is never scaled up, and a max_norm of 0 or below only measures", bounds},
      {"squares are summed in float64, whatever the type of the gradients", wide_sums},
      {"a norm that is NaN or infinite is returned, and nothing is scaled by it", odd_norms},
      {"undefined tensors are left out, and empty ones count nothing, in a group that is not the "
       "world",
       in_turn(checks.twice_in_a_subgroup([](Problem& p) {
         p.layout = {.own = {-1, 30, 0, -1, 1, 5}, .shared = {0, 3}};
       }),
               checks.on({1},
                         [](Problem& p) {
                           p.columns = -1;
                           p.layout.own = {-1, 8, 1};
                         }))},
      {"a rank that counts nothing is refused, and without a group has no norm", nothing_counted},
      {"when a peer is lost, a rank throws CommError and returns no norm of the remaining ranks",
       checks.lose_peers(4, 12, with(&Problem::columns, 2))},
      {"each group reduces one number, and no piece travels", cost},
  };
}

}  // namespace lockstep::grader::clip_global_norm
