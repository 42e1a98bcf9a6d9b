// The exam of split_groups: plans of groups that are only described, rank by rank, and then a real
// split, where every rank knows its own color and key only, and the judge watches who sends to
// whom.
#include "grader/parts/02_processes_and_ranks/split_groups/case.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::split_groups {
namespace {

using comm::ColorKey;
using comm::GroupPlan;
using comm::no_color;
using Named = std::vector<ColorKey>;

// The place of each rank is the number of members that come before it.
Plan expected_of(const Named& named, int rank) {
  const ColorKey mine = named[static_cast<std::size_t>(rank)];
  if (mine.color == no_color) return std::nullopt;
  std::map<std::pair<std::int64_t, int>, int> in_order;
  for (int r = 0; r < static_cast<int>(named.size()); ++r) {
    const ColorKey& other = named[static_cast<std::size_t>(r)];
    if (other.color == mine.color) in_order[{other.key, r}] = r;
  }
  GroupPlan plan;
  for (const auto& [key, r] : in_order) {
    if (r == rank) plan.rank = static_cast<int>(plan.members.size());
    plan.members.push_back(r);
  }
  return plan;
}

std::string text_of(const Named& named) {
  std::vector<std::string> pairs;
  for (const ColorKey& one : named) {
    pairs.push_back(one.color == no_color ? text("(no_color, ", one.key, ")")
                                          : text("(", one.color, ", ", one.key, ")"));
  }
  return "(color, key) " + listed(pairs);
}

std::string text_of(const Plan& plan) {
  return plan ? text("members ", listed(plan->members), ", rank ", plan->rank) : "no group";
}

// "members [2, 0, 1], rank 1"; of two long lists, the first place at which they differ.
std::string text_of(const Plan& plan, const Plan& beside) {
  const std::string whole = text_of(plan);
  if (!plan || !beside || whole != text_of(beside)) return whole;
  const auto [mine, theirs] = std::ranges::mismatch(plan->members, beside->members);
  return text("rank ", *mine, " at place ", mine - plan->members.begin(), " of ",
              plan->members.size(), " members");
}

Cause cause_of_order(const Named& named, const GroupPlan& seen) {
  const auto key = [&](int r) { return named[static_cast<std::size_t>(r)].key; };
  if (std::ranges::is_sorted(seen.members, {}, key)) {
    const auto swapped = std::ranges::adjacent_find(
        seen.members, [&](int a, int b) { return key(a) == key(b) && a > b; });
    return {"ties_unordered", text("ranks ", *swapped, " and ", swapped[1],
                                   " have equal keys, and the smaller rank comes first: std::sort "
                                   "may swap them, std::stable_sort does not")};
  }
  return {"other_order", "members are ordered by key, and by rank if their keys are equal"};
}

Cause cause_of_members(const Named& named, const GroupPlan& seen, const GroupPlan& right) {
  const int size = static_cast<int>(named.size());
  const int color = named[static_cast<std::size_t>(right.members.front())].color;
  const std::set<int> in(seen.members.begin(), seen.members.end());
  for (const int r : in) {
    if (r < 0 || r >= size) return {"no_such_rank", text("the old group has no rank ", r)};
    const int other = named[static_cast<std::size_t>(r)].color;
    if (other == no_color) {
      return {"no_color_in_a_group", text("rank ", r, " passed no_color, so it is in no group")};
    }
    if (other != color) {
      return {"other_color",
              text("rank ", r, " has color ", other, ", but this group has color ", color)};
    }
  }
  for (const int r : right.members) {
    if (!in.contains(r)) {
      return {"member_missing", text("rank ", r, " has the same color but is missing")};
    }
  }
  if (in.size() < seen.members.size()) return {"twice", "a rank is listed twice"};
  return cause_of_order(named, seen);
}

Cause likely_cause(const Named& named, const Plan& seen, const Plan& right) {
  if (!right) {
    return {"group_of_no_color",
            "no_color is not a color: ranks that pass it are in no group, not in one together"};
  }
  if (!seen) return {"no_group", "this rank passed a color, so it is in a group, even if alone"};
  if (seen->members != right->members) return cause_of_members(named, *seen, *right);
  return {"other_rank",
          "plan.rank is this rank's place among the members, counted from 0: "
          "members[plan.rank] is the rank itself, also where keys are equal"};
}

std::optional<Failure> wrong(const Named& named, int rank, const Plan& seen) {
  const Plan right = expected_of(named, rank);
  if (seen == right) return std::nullopt;
  const std::string where = text("rank ", rank, " of ", text_of(named));
  const std::string shown = text_of(seen, right), expected = text_of(right, seen);
  return because(likely_cause(named, seen, right),
                 {.message = text(where, " gets ", shown, " where ", expected, " was expected"),
                  .expected = expected,
                  .seen = shown,
                  .where = where});
}

SplitQuestion with_ranks(const SplitQuestion& q, const std::function<bool(int)>& stays) {
  SplitQuestion fewer;
  for (int r = 0; r < static_cast<int>(q.of_all_ranks.size()); ++r) {
    if (r == q.rank) fewer.rank = static_cast<int>(fewer.of_all_ranks.size());
    if (r == q.rank || stays(r)) {
      fewer.of_all_ranks.push_back(q.of_all_ranks[static_cast<std::size_t>(r)]);
    }
  }
  return fewer;
}

// Without the ranks of other colors, without a half of them, without one.
std::vector<SplitQuestion> smaller(const SplitQuestion& q) {
  const int size = static_cast<int>(q.of_all_ranks.size());
  const auto color = [&](int r) { return q.of_all_ranks[static_cast<std::size_t>(r)].color; };
  std::vector<SplitQuestion> offered;
  offered.push_back(with_ranks(q, [&](int r) { return color(r) == color(q.rank); }));
  offered.push_back(with_ranks(q, [&](int r) { return r < size / 2; }));
  offered.push_back(with_ranks(q, [&](int r) { return r >= size / 2; }));
  for (int gone = size - 1; gone >= 0; --gone) {
    offered.push_back(with_ranks(q, [&](int r) { return r != gone; }));
  }
  std::erase_if(offered, [&](const SplitQuestion& fewer) {
    return std::cmp_equal(fewer.of_all_ranks.size(), size);
  });
  return offered;
}

bool valid(const SplitQuestion& q) {
  return q.rank >= 0 && std::cmp_less(q.rank, q.of_all_ranks.size()) &&
         std::ranges::all_of(
             q.of_all_ranks, [](int color) { return color >= no_color; }, &ColorKey::color);
}

const FunctionContract<SplitQuestion, Plan> contract{
    .text_of =
        [](const SplitQuestion& q) {
          return text("rank ", q.rank, " of ", text_of(q.of_all_ranks));
        },
    .wrong =
        [](std::span<const SplitQuestion> asked, const Plan& seen) {
          return wrong(asked.back().of_all_ranks, asked.back().rank, seen);
        },
    .refusals = {{.valid = valid,
                  .accepts = {"accepts_nonsense",
                              "ranks count from 0 to the size of the group, and no color is below "
                              "no_color; the checks above your region refuse the rest"},
                  .nonsense = {{{{0, 0}, {-2, 1}, {0, 2}}, 2},
                               {{{0, 0}, {0, 1}}, 2},
                               {{{0, 0}, {0, 1}}, -1},
                               {{{INT_MIN, 0}, {0, 1}}, 1},
                               {{}, 0}}}},
    .form = fields_to_bytes(SplitForm::questions),
    .smaller = smaller,
    .sizes = [](const SplitQuestion& q) -> Sizes {
      Sizes sizes{std::ssize(q.of_all_ranks)};
      for (const auto& [color, key] : q.of_all_ranks) {
        sizes.counts.push_back(std::int64_t{color} - no_color);
      }
      return sizes;
    }};

// Asks for the plan of every rank, or of some of many.
void judge(CaseRunner& runner, const std::string& description, const std::vector<Named>& groups) {
  std::vector<SplitQuestion> questions;
  for (const Named& named : groups) {
    // From the last: for rank 0 many mistakes give the same plan.
    const int size = static_cast<int>(named.size());
    for (int rank = size - 1; rank >= 0; rank -= size > 24 ? size / 3 : 1) {
      questions.push_back({named, rank});
    }
  }
  grader::judge(runner, contract, description, questions);
}

// Draws for every rank one of some colors and one of some keys.
Named drawn(CaseRunner& runner, int ranks, const std::vector<int>& colors,
            const std::vector<int>& keys) {
  Named named;
  for (int rank = 0; rank < ranks; ++rank) {
    named.push_back({colors[runner.draw() % colors.size()], keys[runner.draw() % keys.size()]});
  }
  return named;
}

std::vector<Named> drawn_of_all_sizes(CaseRunner& runner, const std::vector<int>& colors,
                                      const std::vector<int>& keys) {
  std::vector<Named> groups;
  for (const int ranks : every_rank_count) {
    for (int k = 0; k < (ranks < 24 ? 3 : 1); ++k)
      groups.push_back(drawn(runner, ranks, colors, keys));
  }
  return groups;
}

std::vector<int> numbers(int from, int to) {
  std::vector<int> all(static_cast<std::size_t>(to - from));
  std::iota(all.begin(), all.end(), from);
  return all;
}

void check_tokens(CaseRunner& runner, const Played& played, const Named& named,
                  const std::vector<std::int64_t>& tokens) {
  for (int rank = 0; rank < static_cast<int>(named.size()); ++rank) {
    const auto report = read_fields<SplitReport>(played.results->of(rank));
    if (auto failure = wrong(named, rank, report.plan)) runner.fail(played, std::move(*failure));
    std::vector<std::int64_t> expected;
    for (const int member : report.plan ? report.plan->members : std::vector<int>()) {
      expected.push_back(tokens[static_cast<std::size_t>(member)]);
    }
    if (report.tokens == expected) continue;
    runner.fail(played, because({"other_tokens", "the plan modified its input"},
                                {.message = text("rank ", rank, " of ", text_of(named),
                                                 " received the tokens ", listed(report.tokens),
                                                 " in its group where its members' tokens ",
                                                 listed(expected), " were expected")}));
  }
}

// Checks what the judge routed: nothing may leave a group.
void check_reach(CaseRunner& runner, const Played& played, const Named& named) {
  for (const sim::MessageRecord& message : played.counters.messages) {
    const int from = named[static_cast<std::size_t>(message.src)].color;
    const int to = named[static_cast<std::size_t>(message.dst)].color;
    if (from == to && from != no_color) continue;
    Failure failure;
    failure.cause = "left_the_group";
    failure.message = text("rank ", message.src, " sent to rank ", message.dst, " of ",
                           text_of(named), "; a group's collectives reach its members only");
    runner.fail(played, std::move(failure));
  }
}

void split_for_real(CaseRunner& runner, const Named& named) {
  CaseSetup setup;
  setup.description =
      text(counted(std::ssize(named), "rank"),
           named.size() == 1 ? " splits and passes" : " split and pass", " tokens around");
  setup.schedule_seed = runner.draw();
  std::vector<std::int64_t> tokens;
  for (const ColorKey& one : named) {
    tokens.push_back(static_cast<std::int64_t>(runner.draw() >> 1));
    setup.inputs.push_back(fields_to_bytes(SplitForm::exchange, SplitExchange{one, tokens.back()}));
  }
  const auto played = runner.play(setup);
  if (!played) return;
  check_tokens(runner, *played, named, tokens);
  check_reach(runner, *played, named);
}

}  // namespace

Exam exam() {
  return {
      {"the contract's example is right: seven ranks, two colors, one rank with no_color",
       [](CaseRunner& runner) {
         judge(runner, "seven ranks",
               std::vector<Named>{{{7, 9}, {7, 0}, {2, 4}, {7, 9}, {no_color, 0}, {2, 8}, {2, 1}}});
       }},
      {"ranks with one color form one group, for any color numbers",
       [](CaseRunner& runner) {
         judge(runner, "one color", std::vector<Named>{drawn(runner, 5, {0}, {0})});
         judge(runner, "even and odd", std::vector<Named>{drawn(runner, 8, {0, 1}, {0})});
         judge(runner, "colors far apart",
               drawn_of_all_sizes(runner, {0, 3, 3 + (1 << 8), 3 + (1 << 16), 1000, INT_MAX}, {0}));
         judge(runner, "a color for each",
               std::vector<Named>{drawn(runner, 8, numbers(0, 1000), {0})});
       }},
      {"keys order the members, and ranks order members with equal keys",
       [](CaseRunner& runner) {
         judge(runner, "the order reversed", std::vector<Named>{{{0, 3}, {0, 2}, {0, 1}, {0, 0}}});
         judge(runner, "keys drawn", drawn_of_all_sizes(runner, {4}, numbers(0, 100)));
         judge(runner, "many equal keys", drawn_of_all_sizes(runner, {0, 1}, {5, 6}));
         judge(runner, "colors and keys", drawn_of_all_sizes(runner, {9, 2, 5}, {8, 1, 3, 3}));
       }},
      {"keys may be negative or as large as an int can be",
       [](CaseRunner& runner) {
         judge(runner, "below and above zero",
               std::vector<Named>{{{0, 1}, {0, -3}, {0, 0}, {0, -1}, {0, 2}}});
         judge(runner, "the smallest and the largest",
               std::vector<Named>{{{0, INT_MIN}, {0, 1}, {0, INT_MAX}, {0, -2}, {0, 0}}});
         judge(runner, "negative keys", drawn_of_all_sizes(runner, {0, 1}, numbers(-9, 10)));
         judge(runner, "far apart",
               drawn_of_all_sizes(runner, {0, 1}, {INT_MIN, INT_MIN + 1, -1, 0, 1, INT_MAX}));
       }},
      {"a rank with no_color is in no group and does not affect the others",
       [](CaseRunner& runner) {
         judge(runner, "two of them",
               std::vector<Named>{{{no_color, 0}, {0, 0}, {0, 0}, {no_color, 0}}});
         judge(runner, "all pass no_color",
               std::vector<Named>{drawn(runner, 4, {no_color}, {0, 1})});
         judge(runner, "some", drawn_of_all_sizes(runner, {no_color, 0, 1, 4}, {-1, 0, 1}));
       }},
      {"ranks that know only their own color and key find each other and reach no other rank",
       [](CaseRunner& runner) {
         split_for_real(runner, {{1, 0}, {0, 0}, {1, -1}, {0, 5}, {no_color, 0}});
         for (const int ranks : {2, 3, 7, 8}) {
           split_for_real(runner, drawn(runner, ranks, {no_color, 3, 70}, {-2, 0, 2}));
         }
       }},
      check_of_refusals(contract, "a rank that there is not and a color below no_color are refused",
                        {{{{0, 3}, {no_color, 0}, {0, 1}}, 2}}),
  };
}

}  // namespace lockstep::grader::split_groups
