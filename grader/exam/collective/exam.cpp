#include "grader/exam/collective/rules.hpp"

#include <algorithm>

#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

using Problems = std::vector<CollectiveProblem>;

Problems sizes_and_roots(CaseRunner& runner, Roots roots) {
  Problems problems;
  for (const int n : {2, 3, 4, 1, 5, 6, 7, 8}) {
    const std::int64_t counts[] = {3 * n, 0, 1, n - 1, n, n + 1, 31};
    int root = 0;
    for (const std::int64_t count : counts) {
      problems.push_back({.members = whole_world(n),
                          .count = count,
                          .root = roots == Roots::all ? root++ % n : 0,
                          .schedule_seed = runner.draw(),
                          .situations = {Situation::element_counts}});
    }
    // Those roots that the counts did not come to.
    for (; roots == Roots::all && root < n; ++root) {
      problems.push_back({.members = whole_world(n), .count = 5, .root = root});
    }
  }
  // Trees with a level more, chunks that fall into other places, ranks beyond a power of two.
  int far_root = 11;
  for (const auto& [n, count] : {std::pair{13, 14}, {12, 11}, {16, 5}, {17, 3}}) {
    problems.push_back({.members = whole_world(n),
                        .count = count,
                        .root = roots == Roots::all ? far_root++ % n : 0,
                        .calls = 1,
                        .situations = {Situation::rank_counts}});
  }
  for (const int n : {2, 3, 5, 8}) {
    problems.push_back({.members = whole_world(n),
                        .count = 101,
                        .dtype = DType::float32,
                        .root = roots == Roots::all ? n - 1 : 0});
  }
  return problems;
}

Problems sub_groups(Roots roots) {
  const bool rooted = roots == Roots::all;
  return {{.members = split_members(), .count = 23, .root = rooted ? 2 : 0},
          {.members = {4, {3, 1}}, .count = 5, .root = rooted ? 1 : 0}};
}

Problems priced(CaseRunner& runner, Roots roots, Reduces reduces, std::int64_t large) {
  Problems problems;
  for (const int n : {2, 3, 4, 5, 6, 7, 8}) {
    const auto any = static_cast<std::int64_t>(20 + runner.draw() % 400);
    int root = 0;
    for (const std::int64_t count : {std::int64_t{10} * n, std::int64_t{10} * n + 3, any}) {
      problems.push_back({.members = whole_world(n),
                          .count = count,
                          .root = roots == Roots::all ? root % n : 0,
                          .calls = 1});
      root += n - 1;
    }
  }
  // So few elements that some of N blocks are empty, or all of them short, among many ranks.
  for (const auto& [n, count] :
       {std::pair{8, 1}, {3, 1}, {4, 3}, {8, 7}, {8, 9}, {6, 64}, {12, 13}, {13, 12}, {13, 40}}) {
    using enum Situation;
    problems.push_back({.members = whole_world(n),
                        .count = count,
                        .op = reduces == Reduces::yes ? ReduceOp::max : ReduceOp::sum,
                        .root = roots == Roots::all ? n - 1 : 0,
                        .calls = 1,
                        .situations = {n == 13 ? cost_at_13_ranks : price_at_the_extremes}});
  }
  problems.push_back(
      {.members = whole_world(3), .count = large, .dtype = DType::float32, .calls = 1});
  // Sizes that no memory holds: 32 bits are too few for their borders.
  constexpr std::int64_t beyond_31_bits = 3'000'000'019, beyond_32_bits = 5'000'000'029;
  for (const auto& [n, count] : {std::pair{8, beyond_31_bits}, {13, beyond_32_bits}}) {
    problems.push_back({.members = whole_world(n),
                        .count = count,
                        .dtype = DType::float32,
                        .root = roots == Roots::all ? 1 : 0,
                        .calls = 1,
                        .elements = Elements::none});
  }
  return problems;
}

// Describes the group's elements for a person: "7 elements of int64, sum, root 2".
std::string described(const CollectiveContract& contract, const CollectiveProblem& p) {
  constexpr const char* values[] = {"", ", NaN and infinity among them", ", extremes among them",
                                    ", zeros among them"};
  return text(contract.besides ? contract.besides(p) : "", grouped(p.count),
              p.count == 1 ? " element of " : " elements of ", name_of(p.dtype), beyond(p),
              values[static_cast<std::size_t>(p.values)],
              p.elements == Elements::none ? " on a device that holds sizes only" : "",
              contract.reduces == Reduces::yes ? text(", ", name_of(p.op)) : "",
              contract.roots == Roots::all ? text(", root ", p.root) : "");
}

using ProblemCheck = std::function<void(CaseRunner&, const CollectiveProblem&)>;

// A check that judges problem after problem, and makes one that fails smaller.
Check check_of(std::string name, std::function<Problems(CaseRunner&)> problems,
               ProblemCheck judge) {
  return {std::move(name), [problems, judge](CaseRunner& runner) {
            for (const CollectiveProblem& p : problems(runner)) {
              examine_with_contrasts<CollectiveProblem>(
                  runner, p, [&](const CollectiveProblem& one) { judge(runner, one); },
                  smaller_problems, contrasts_of);
            }
          }};
}

// Every element type with the values that are no usual ones, and all of its digits.
Problems every_type(Roots roots, Reduces reduces) {
  Problems problems;
  const auto ask = [&](DType dtype, ReduceOp op, Values values, int calls) {
    if (reduces == Reduces::no && op != ReduceOp::sum) return;
    problems.push_back({.members = whole_world(3),
                        .count = 17,
                        .dtype = dtype,
                        .op = op,
                        .root = roots == Roots::all ? 1 : 0,
                        .calls = calls,
                        .values = values,
                        .situations = {Situation::every_dtype}});
  };
  // Integers for which a double, or a float, has too few bits; uint8 has the digits of two ranks.
  const auto ask_wide = [&](DType dtype, int ranks, ReduceOp op) {
    ask(dtype, op, Values::usual, 1);
    if (reduces == Reduces::no && op != ReduceOp::sum) return;
    problems.back().members = whole_world(ranks);
    problems.back().count = 11;
    problems.back().offset = large_offset(dtype);
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    ask_wide(DType::int64, 5, op);
  }
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) ask_wide(DType::int32, 5, op);
  ask_wide(DType::uint8, 2, ReduceOp::sum);
  for (const DType dtype : all_dtypes) {
    // Sums are begun with zero by mistake, and the largest with a small number.
    ask(dtype, ReduceOp::sum, Values::zeros, 2);
    if (dtype == DType::uint8 || dtype == DType::float32)
      ask(dtype, ReduceOp::max, Values::zeros, 2);
    const Values values = is_integer(dtype) ? Values::extreme : Values::special;
    ask(dtype, ReduceOp::sum, values, 1);
    ask(dtype, dtype == DType::float32 ? ReduceOp::min : ReduceOp::max, values, 1);
  }
  return problems;
}

// A rank between others dies, one at the end of a chain of messages, and the root.
Problems deaths(CaseRunner& runner, Roots roots) {
  Problems problems;
  struct One {
    int ranks, dies, root;
  };
  for (const One& one : {One{3, 1, 0}, One{3, 2, 0}, One{4, 2, 0}, One{4, 0, 0}, One{5, 4, 3},
                         One{4, 1, 1}, One{2, 0, 1}, One{2, 1, 0}, One{6, 3, 1}}) {
    problems.push_back({.members = whole_world(one.ranks),
                        .count = 2 * one.ranks + 1,
                        .root = roots == Roots::all ? one.root : 0,
                        .calls = 1,
                        .salt = runner.draw(),
                        .death = Death{one.dies, 0}});
  }
  return problems;
}

Scene sizes_of(const CollectiveContract& contract, const CollectiveProblem& p) {
  Scene scene;
  for (int rank = 0; rank < p.size(); ++rank) {
    auto& held = scene.ranks.emplace_back();
    for (const std::int64_t count : contract.counts(p, rank)) {
      held.push_back({.name = "a buffer", .count = count, .before = {}, .after = {}});
    }
  }
  return scene;
}

Problems operators() {
  Problems problems;
  for (const ReduceOp op : {ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
    for (const DType dtype : {DType::int64, DType::float64}) {
      problems.push_back({.members = whole_world(3), .count = 11, .dtype = dtype, .op = op});
    }
  }
  return problems;
}

// The same inputs under several schedules give the same bits: on players that have not seen these
// inputs, which cannot remember what they answered; at last on players that have, which may have
// kept something else, such as whose turn it is.
void check_schedules(CaseRunner& runner, const CollectiveContract& contract, const Oracle& oracle) {
  CollectiveProblem p{.members = whole_world(contract.groups == Groups::one ? 7 : 6),
                      .count = 53,
                      .dtype = DType::float32,
                      .root = 0};
  if (contract.complete) contract.complete(runner, p);
  p.salt = runner.draw();
  std::optional<Played> first;
  for (int schedule = 0; schedule < 5; ++schedule) {
    p.players = schedule == 0 || schedule == 4 ? Players::kept : Players::fresh;
    p.schedule_seed = runner.draw();
    auto played = play_collective(runner, p, described(contract, p), oracle);
    if (!played) continue;
    if (first && played->results->bytes() != first->results->bytes()) {
      Failure failure;
      failure.verdict = Verdict::nondeterministic;
      failure.cause = "order_of_arrival";
      failure.message =
          "the same inputs gave different bits under another schedule; likely cause: values are "
          "added in order of arrival, not in a fixed order";
      failure.expected = "the same bits in every run";
      failure.seen = "different bits";
      failure.alone = false;
      runner.fail(*played, failure);
    }
    if (!first) first = std::move(played);
  }
}

}  // namespace

Members split_members() {
  Members members = whole_world(8);
  members.ranks = {6, 1, 3, 7, 4};
  return members;
}

std::vector<CollectiveProblem> smaller_problems(const CollectiveProblem& p) {
  Problems offered;
  const auto offer = [&](auto change) {
    CollectiveProblem q = p;
    change(q);
    offered.push_back(std::move(q));
  };
  // Counts and roots that a smaller group can have; blocks of lengths of their own stay as they
  // are.
  const bool plain = p.sends.empty() && !p.nodes && !p.death;
  if (plain && p.size() < p.members.world) {
    offer([](CollectiveProblem& q) { q.members = whole_world(q.size()); });
  }
  for (int ranks = 1; plain && ranks < p.size(); ++ranks) {
    offer([&](CollectiveProblem& q) {
      q.members = whole_world(ranks);
      q.root = std::min(q.root, ranks - 1);
    });
  }
  if (p.calls > 1) offer([](CollectiveProblem& q) { q.calls = 1; });
  if (p.root > 0 && !p.death) offer([](CollectiveProblem& q) { q.root = 0; });
  if (p.op != ReduceOp::sum) offer([](CollectiveProblem& q) { q.op = ReduceOp::sum; });
  if (p.dtype != DType::int64) {
    offer([](CollectiveProblem& q) {
      q.dtype = DType::int64;
      if (q.offset != 0) q.offset = large_offset(q.dtype);
    });
  }
  if (p.schedule_seed != 0) offer([](CollectiveProblem& q) { q.schedule_seed = 0; });
  // An element for each rank stays, where there was one: with fewer, some ranks have nothing to
  // send, and the case shows another algorithm than the one that failed.
  const std::int64_t least = std::max<std::int64_t>(std::min<std::int64_t>(p.count, p.size()), 1);
  for (std::int64_t count = least; plain && p.elements == Elements::given && count < p.count;
       count += std::max<std::int64_t>(1, count / 2)) {
    offer([&](CollectiveProblem& q) { q.count = count; });
  }
  if (plain && p.count > least) offer([](CollectiveProblem& q) { --q.count; });
  return offered;
}

namespace {

// The checks of one contract.
class CollectiveChecks {
 public:
  explicit CollectiveChecks(const CollectiveContract& contract)
      : contract_(contract),
        oracle_([contract](const CollectiveProblem& p, std::uint64_t salt, int call) {
          return p.elements == Elements::none ? sizes_of(contract, p)
                                              : contract.oracle(p, salt, call);
        }) {}

  Check values(std::string name, std::function<Problems(CaseRunner&)> problems) const {
    return check_of(std::move(name), completed(std::move(problems)),
                    [*this](CaseRunner& runner, const CollectiveProblem& p) {
                      play_collective(runner, p, described(contract_, p), oracle_);
                    });
  }

  Check cost() const {
    const auto problems = [contract = contract_](CaseRunner& runner) {
      return priced(runner, contract.roots, contract.reduces, contract.large);
    };
    Check check = check_of(contract_.cost, completed(problems),
                           [*this](CaseRunner& runner, const CollectiveProblem& p) {
                             std::int64_t bytes_peak = 0;
                             auto played = play_collective(runner, p, described(contract_, p),
                                                           oracle_, &bytes_peak);
                             if (!played) return;
                             if (contract_.look_at_cost) contract_.look_at_cost(runner, *played, p);
                             check_price(runner, *played, p, contract_.price(p), bytes_peak);
                           });
    check.asks = Asks::cost;
    return check;
  }

  Check lost_peers() const {
    const auto run = [*this](CaseRunner& runner) {
      const Problems problems =
          completed([&](CaseRunner& drawing) { return deaths(drawing, contract_.roots); })(runner);
      const auto of = [&](int number, std::int64_t request) {
        CollectiveProblem p = problems[static_cast<std::size_t>(number)];
        p.death->at_request = request;
        return p;
      };
      at_each_request(
          runner,
          {.cases = 20,
           .problems = static_cast<int>(problems.size()),
           .requests_of = [&](int number) { return requests_of(runner, of(number, 0), oracle_); },
           .judge =
               [&](int number, std::int64_t request) {
                 const auto p = of(number, request);
                 play_collective(runner, p, described(contract_, p), oracle_);
               }});
    };
    return {"when a peer is lost, a rank throws CommError and never returns a partial result",
            run,
            {},
            Asks::faults};
  }

  Check schedules() const {
    return {"the bits are the same under every schedule",
            [*this](CaseRunner& runner) { check_schedules(runner, contract_, oracle_); }};
  }

 private:
  std::function<Problems(CaseRunner&)> completed(
      std::function<Problems(CaseRunner&)> problems) const {
    if (!contract_.complete) return problems;
    return [complete = contract_.complete, problems](CaseRunner& runner) {
      Problems all = problems(runner);
      for (CollectiveProblem& p : all) complete(runner, p);
      return all;
    };
  }

  CollectiveContract contract_;
  Oracle oracle_;
};

}  // namespace

Exam collective_exam(const CollectiveContract& contract) {
  const Roots roots = contract.roots;
  const Reduces reduces = contract.reduces;
  const CollectiveChecks checks(contract);
  Exam exam;
  // If the values of the plain case are wrong, no other check says anything. A part that fails only
  // for some operators or groups may still have the right cost.
  const auto add = [&](Check check, std::vector<std::size_t> builds_on = {0}) {
    if (!exam.empty()) check.builds_on = std::move(builds_on);
    exam.push_back(std::move(check));
  };
  add(checks.values(contract.values,
                    [=](CaseRunner& runner) { return sizes_and_roots(runner, roots); }));
  if (contract.groups == Groups::one) {
    add(checks.values("the same holds in a group whose ranks differ from the global ranks",
                      [=](CaseRunner&) { return sub_groups(roots); }));
  }
  if (reduces == Reduces::yes) {
    add(checks.values("product, min and max are right, too",
                      [](CaseRunner&) { return operators(); }));
  }
  add(checks.values(
          "every type arrives whole: integers beyond 2^53 and 2^24 and the extreme ones, NaN, "
          "infinity, zeros, -0 and numbers below the smallest normal one",
          [=](CaseRunner&) { return every_type(roots, reduces); }),
      reduces == Reduces::yes ? std::vector<std::size_t>{0, exam.size() - 1}
                              : std::vector<std::size_t>{0});
  if (reduces == Reduces::yes) add(checks.schedules());
  add(checks.cost());
  add(checks.lost_peers());
  return exam;
}

}  // namespace lockstep::grader
