#include "grader/exam/collective_rules.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::vector<CollectiveProblem> sizes_and_roots(CaseRunner& runner, Roots roots) {
  std::vector<CollectiveProblem> problems;
  for (const int n : {2, 3, 4, 1, 5, 6, 7, 8}) {
    const std::int64_t counts[] = {3 * n, 0, 1, n - 1, n, n + 1, 31};
    int root = 0;
    for (const std::int64_t count : counts) {
      problems.push_back({.members = whole_world(n),
                          .count = count,
                          .root = roots == Roots::all ? root++ % n : 0,
                          .schedule_seed = runner.draw()});
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
                        .calls = 1});
  }
  for (const int n : {2, 3, 5, 8}) {
    problems.push_back({.members = whole_world(n),
                        .count = 101,
                        .dtype = DType::float32,
                        .root = roots == Roots::all ? n - 1 : 0});
  }
  return problems;
}

std::vector<CollectiveProblem> sub_groups(Roots roots) {
  const bool rooted = roots == Roots::all;
  return {{.members = split_members(), .count = 23, .root = rooted ? 2 : 0},
          {.members = {4, {3, 1}}, .count = 5, .root = rooted ? 1 : 0}};
}

constexpr std::int64_t huge = 3'000'000'019;

std::vector<CollectiveProblem> priced(CaseRunner& runner, Roots roots, Reduces reduces,
                                      std::int64_t large) {
  std::vector<CollectiveProblem> problems;
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
  for (const auto& [n, count] : {std::pair{8, 1}, {8, 7}, {8, 9}, {12, 13}, {13, 12}, {13, 40}}) {
    problems.push_back({.members = whole_world(n),
                        .count = count,
                        .op = reduces == Reduces::yes ? ReduceOp::max : ReduceOp::sum,
                        .root = roots == Roots::all ? n - 1 : 0,
                        .calls = 1});
  }
  problems.push_back(
      {.members = whole_world(3), .count = large, .dtype = DType::float32, .calls = 1});
  // What no memory holds: 32 bits are too few for its borders.
  for (const int n : {8, 13}) {
    problems.push_back({.members = whole_world(n),
                        .count = huge,
                        .dtype = DType::float32,
                        .root = roots == Roots::all ? 1 : 0,
                        .calls = 1,
                        .elements = Elements::none});
  }
  return problems;
}

// What the group's elements are, for a person: "7 elements of int64, sum, root 2".
std::string described(const CollectiveContract& contract, const CollectiveProblem& p) {
  return text(grouped(p.count), p.count == 1 ? " element of " : " elements of ", name_of(p.dtype),
              beyond(p), p.elements == Elements::none ? " on a device that holds sizes only" : "",
              contract.reduces == Reduces::yes ? text(", ", name_of(p.op)) : "",
              contract.roots == Roots::all ? text(", root ", p.root) : "");
}

using Problems = std::vector<CollectiveProblem>;

using ProblemCheck = std::function<void(CaseRunner&, const CollectiveProblem&)>;

// A check that judges problem after problem, and makes one that fails smaller.
Check check_of(std::string name, std::function<Problems(CaseRunner&)> problems,
               ProblemCheck judge) {
  return {std::move(name), [problems, judge](CaseRunner& runner) {
            for (const CollectiveProblem& p : problems(runner)) {
              runner.examine<CollectiveProblem>(
                  p, [&](const CollectiveProblem& one) { judge(runner, one); }, smaller_problems);
            }
          }};
}

// Integers for which a double, or a float, has too few bits; and the smallest ones, which fill all
// of theirs.
Problems wide_integers(Roots roots, Reduces reduces) {
  Problems problems;
  const auto ask = [&](DType dtype, int ranks, ReduceOp op) {
    if (reduces == Reduces::no && op != ReduceOp::sum) return;
    problems.push_back({.members = whole_world(ranks),
                        .count = 11,
                        .dtype = dtype,
                        .op = op,
                        .root = roots == Roots::all ? ranks / 2 : 0,
                        .calls = 1,
                        .offset = large_offset(dtype)});
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    ask(DType::int64, 5, op);
  }
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) ask(DType::int32, 5, op);
  ask(DType::uint8, 2, ReduceOp::sum);  // it has the digits of two ranks only
  return problems;
}

// The first rank, the last, and one between them die, early, in the middle and near the end.
Problems deaths(Roots roots) {
  Problems problems;
  struct One {
    int ranks, dies, at_request, root;
  };
  for (const One& one : {One{2, 1, 1, 0}, One{4, 0, 1, 1}, One{4, 1, 1, 1}, One{4, 3, 2, 0},
                         One{5, 2, 4, 3}, One{5, 0, 2, 0}, One{3, 2, 8, 0}, One{2, 0, 5, 1}}) {
    problems.push_back({.members = whole_world(one.ranks),
                        .count = 2 * one.ranks + 1,
                        .root = roots == Roots::all ? one.root : 0,
                        .calls = 1,
                        .death = Death{one.dies, one.at_request}});
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
void check_schedules(CaseRunner& runner, const CollectiveContract& contract) {
  CollectiveProblem p{.members = whole_world(7), .count = 53, .dtype = DType::float32, .root = 0};
  p.salt = runner.draw();
  std::optional<Played> first;
  for (int schedule = 0; schedule < 5; ++schedule) {
    p.players = schedule == 0 || schedule == 4 ? Players::kept : Players::fresh;
    p.schedule_seed = runner.draw();
    auto played = play_collective(runner, p, described(contract, p), contract.oracle);
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
  for (std::int64_t count = 1; plain && p.elements == Elements::given && count < p.count;
       count += std::max<std::int64_t>(1, count / 2)) {
    offer([&](CollectiveProblem& q) { q.count = count; });
  }
  if (plain && p.count > 1) offer([](CollectiveProblem& q) { --q.count; });
  return offered;
}

Exam collective_exam(const CollectiveContract& contract) {
  const Roots roots = contract.roots;
  const Reduces reduces = contract.reduces;
  const Oracle oracle = [contract](const CollectiveProblem& p, std::uint64_t salt, int call) {
    return p.elements == Elements::none ? sizes_of(contract, p) : contract.oracle(p, salt, call);
  };
  const ProblemCheck values = [contract, oracle](CaseRunner& runner, const CollectiveProblem& p) {
    play_collective(runner, p, described(contract, p), oracle);
  };
  const ProblemCheck cost = [contract, oracle](CaseRunner& runner, const CollectiveProblem& p) {
    std::int64_t bytes_peak = 0;
    const auto played = play_collective(runner, p, described(contract, p), oracle, &bytes_peak);
    if (played) check_price(runner, *played, p, contract.price(p), bytes_peak);
  };
  // If the values of the plain case are wrong, no other check says anything. A part that fails only
  // for some operators or groups may still have the right cost.
  const auto on_values = [](Check check) {
    check.builds_on = {0};
    return check;
  };
  Exam exam;
  exam.push_back(check_of(
      contract.values, [roots](CaseRunner& runner) { return sizes_and_roots(runner, roots); },
      values));
  exam.push_back(on_values(check_of(
      "the same holds in a group whose ranks differ from the global ranks",
      [roots](CaseRunner&) { return sub_groups(roots); }, values)));
  if (reduces == Reduces::yes) {
    exam.push_back(on_values(check_of(
        "product, min and max are right, too", [](CaseRunner&) { return operators(); }, values)));
  }
  Check wide = check_of(
      "integers are exact to the last digit: int64 beyond 2^53, int32 beyond 2^24, uint8",
      [roots, reduces](CaseRunner&) { return wide_integers(roots, reduces); }, values);
  wide.builds_on = {0};
  if (reduces == Reduces::yes) wide.builds_on->push_back(exam.size() - 1);  // the operators
  exam.push_back(std::move(wide));
  if (reduces == Reduces::yes) {
    exam.push_back({"the bits are the same under every schedule",
                    [contract](CaseRunner& runner) { check_schedules(runner, contract); },
                    std::vector<std::size_t>{0}});
  }
  Check priced_check = on_values(check_of(
      contract.cost,
      [roots, reduces, large = contract.large](CaseRunner& runner) {
        return priced(runner, roots, reduces, large);
      },
      cost));
  priced_check.asks = Asks::cost;
  exam.push_back(std::move(priced_check));
  Check lost_check = on_values(check_of(
      "when a peer is lost, a rank throws CommError and never returns a partial result",
      [roots](CaseRunner&) { return deaths(roots); }, values));
  lost_check.asks = Asks::cost;
  exam.push_back(std::move(lost_check));
  return exam;
}

}  // namespace lockstep::grader
