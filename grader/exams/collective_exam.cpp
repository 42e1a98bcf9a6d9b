#include "grader/exams/collective_rules.hpp"

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

Check check_of(const CollectiveContract& contract, std::string name,
               std::function<Problems(Bench&)> problems) {
  return {std::move(name), [contract, problems](Bench& bench) {
            for (const CollectiveProblem& p : problems(bench)) {
              play_collective(bench, p, described(contract, p), contract.oracle);
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

Exam collective_exam(const CollectiveContract& contract) {
  Exam exam;
  exam.push_back(check_of(contract, contract.values, [roots = contract.roots](Bench& bench) {
    return sizes_and_roots(bench, roots);
  }));
  exam.push_back(check_of(contract, "a group whose ranks are not those of the world",
                          [roots = contract.roots](Bench&) { return sub_groups(roots); }));
  if (contract.reduces == Reduces::yes) {
    exam.push_back(check_of(contract, "product, min and max as well as sum",
                            [](Bench&) { return operators(); }));
    exam.push_back({"the same bits under every schedule",
                    [contract](Bench& bench) { check_schedules(bench, contract); }});
  }
  exam.push_back(
      {contract.cost, [contract](Bench& bench) {
         for (const CollectiveProblem& p : priced(bench, contract.roots, contract.large)) {
           const auto played = play_collective(bench, p, described(contract, p), contract.oracle);
           if (played) check_price(bench, *played, p, contract.price(p));
         }
       }});
  return exam;
}

}  // namespace lockstep::grader
