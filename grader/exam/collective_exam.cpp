#include "grader/exam/collective_rules.hpp"

#include <algorithm>

namespace lockstep::grader {
namespace {

std::vector<CollectiveProblem> sizes_and_roots(Bench& bench, Roots roots) {
  std::vector<CollectiveProblem> problems;
  for (const int n : {2, 3, 4, 1, 5, 7, 8}) {
    const std::int64_t counts[] = {3 * n, 0, 1, n - 1, n, n + 1, 31};
    int root = 0;
    for (const std::int64_t count : counts) {
      problems.push_back({.members = whole_world(n),
                          .count = count,
                          .root = roots == Roots::all ? root++ % n : 0,
                          .schedule_seed = bench.draw()});
    }
    // Those roots that the counts did not come to.
    for (; roots == Roots::all && root < n; ++root) {
      problems.push_back({.members = whole_world(n), .count = 5, .root = root});
    }
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

std::vector<CollectiveProblem> priced(Bench& bench, Roots roots, std::int64_t large) {
  std::vector<CollectiveProblem> problems;
  for (const int n : {2, 3, 4, 5, 7, 8}) {
    const auto any = static_cast<std::int64_t>(20 + bench.draw() % 400);
    int root = 0;
    for (const std::int64_t count : {std::int64_t{10} * n, std::int64_t{10} * n + 3, any}) {
      problems.push_back({.members = whole_world(n),
                          .count = count,
                          .root = roots == Roots::all ? root % n : 0,
                          .calls = 1});
      root += n - 1;
    }
  }
  problems.push_back(
      {.members = whole_world(3), .count = large, .dtype = DType::float32, .calls = 1});
  return problems;
}

// What the group's elements are, for a person: "7 elements of int64, sum, root 2".
std::string described(const CollectiveContract& contract, const CollectiveProblem& p) {
  return text(p.count, p.count == 1 ? " element of " : " elements of ", name_of(p.dtype),
              contract.reduces == Reduces::yes ? text(", ", name_of(p.op)) : "",
              contract.roots == Roots::all ? text(", root ", p.root) : "");
}

using Problems = std::vector<CollectiveProblem>;

using Judge = std::function<void(Bench&, const CollectiveProblem&)>;

// A check that judges problem after problem, and makes one that fails smaller.
Check check_of(std::string name, std::function<Problems(Bench&)> problems, Judge judge) {
  return {std::move(name), [problems, judge](Bench& bench) {
            for (const CollectiveProblem& p : problems(bench)) {
              bench.examine<CollectiveProblem>(
                  p, [&](const CollectiveProblem& one) { judge(bench, one); }, smaller_problems);
            }
          }};
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

// The same inputs under several schedules give the same bits.
void check_schedules(Bench& bench, const CollectiveContract& contract) {
  CollectiveProblem p{.members = whole_world(7), .count = 53, .dtype = DType::float32, .root = 0};
  p.salt = bench.draw();
  std::optional<Played> first;
  for (int schedule = 0; schedule < 4; ++schedule) {
    p.schedule_seed = bench.draw();
    auto played = play_collective(bench, p, described(contract, p), contract.oracle);
    if (!played) continue;
    if (first && played->results != first->results) {
      Failure failure;
      failure.verdict = sim::Verdict::nondeterministic;
      failure.cause = "order_of_arrival";
      failure.message =
          "the same inputs gave other bits under another schedule; likely cause: values are added "
          "in the order in which they happen to arrive, not in a fixed one";
      failure.expected = "the same bits in every run";
      failure.seen = "other bits";
      bench.fail(*played, failure);
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
  const bool plain = p.sends.empty() && !p.nodes;
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
  if (p.root > 0) offer([](CollectiveProblem& q) { q.root = 0; });
  if (p.op != ReduceOp::sum) offer([](CollectiveProblem& q) { q.op = ReduceOp::sum; });
  if (p.dtype != DType::int64) offer([](CollectiveProblem& q) { q.dtype = DType::int64; });
  if (p.schedule_seed != 0) offer([](CollectiveProblem& q) { q.schedule_seed = 0; });
  for (std::int64_t count = 1; plain && count < p.count;
       count += std::max<std::int64_t>(1, count / 2)) {
    offer([&](CollectiveProblem& q) { q.count = count; });
  }
  if (plain && p.count > 1) offer([](CollectiveProblem& q) { --q.count; });
  return offered;
}

Exam collective_exam(const CollectiveContract& contract) {
  const Roots roots = contract.roots;
  const Judge values = [contract](Bench& bench, const CollectiveProblem& p) {
    play_collective(bench, p, described(contract, p), contract.oracle);
  };
  const Judge cost = [contract](Bench& bench, const CollectiveProblem& p) {
    const auto played = play_collective(bench, p, described(contract, p), contract.oracle);
    if (played) check_price(bench, *played, p, contract.price(p));
  };
  // Where the values of the plain case are wrong, nothing else says anything; but what fails for
  // some operators or groups only may still cost what it should.
  const auto on_values = [](Check check) {
    check.builds_on = {0};
    return check;
  };
  Exam exam;
  exam.push_back(check_of(
      contract.values, [roots](Bench& bench) { return sizes_and_roots(bench, roots); }, values));
  exam.push_back(on_values(check_of(
      "a group whose ranks are not those of the world",
      [roots](Bench&) { return sub_groups(roots); }, values)));
  if (contract.reduces == Reduces::yes) {
    exam.push_back(on_values(check_of(
        "product, min and max as well as sum", [](Bench&) { return operators(); }, values)));
    exam.push_back({"the same bits under every schedule",
                    [contract](Bench& bench) { check_schedules(bench, contract); },
                    std::vector<std::size_t>{0}});
  }
  Check priced_check = on_values(check_of(
      contract.cost,
      [roots, large = contract.large](Bench& bench) { return priced(bench, roots, large); }, cost));
  priced_check.asks = Asks::cost;
  exam.push_back(std::move(priced_check));
  return exam;
}

}  // namespace lockstep::grader
