// The questions that every exam of the family ranks asks. An exam declares its contract
// (exam/ranks/exam.hpp), its usual problem, and which fields make a problem smaller. Sizes, types,
// odd values, a subgroup, lost peers and prices are asked here. The exam adds what no other part of
// its kind is asked.
//
//   const RanksChecks checks(contract, [](Problem& p) { p.tokens = 2 * p.ranks(); });
//   {"on 1 to 8 and 13 ranks, …", checks.every_size()},
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/exam.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"

namespace lockstep::grader {

// Smaller problems, as RanksContract offers them: smaller_by(fewer_ranks, down_to(&Problem::steps,
// 1), …), boldest first. A field is a pointer to a member, or a function that finds it in a
// problem. An exam's own way is a function (const Problem&, std::vector<Problem>& offered).
template <typename... Ways>
auto smaller_by(Ways... ways) {
  return [=]<typename Problem>(const Problem& p) {
    std::vector<Problem> offered;
    (ways(p, offered), ...);
    return offered;
  };
}

inline constexpr auto fewer_ranks = [](const auto& p, auto& offered) {
  for (int ranks = 1; ranks < p.members.size(); ++ranks) {
    offered.emplace_back(p).members = whole_world(ranks);
  }
};

template <typename Field>
auto down_to(Field field, std::int64_t least) {
  return [=](const auto& p, auto& offered) {
    using Value = std::remove_cvref_t<decltype(std::invoke(field, p))>;
    const auto to = static_cast<Value>(least);
    if (std::invoke(field, p) > to) std::invoke(field, offered.emplace_back(p)) = to;
  };
}

template <typename Field>
auto one_less(Field field, std::int64_t least = 1) {
  return [=](const auto& p, auto& offered) {
    if (std::cmp_less_equal(std::invoke(field, p), least)) return;
    --std::invoke(field, offered.emplace_back(p));
  };
}

// A list without its last element.
template <typename Field>
auto shorter(Field field, std::size_t least = 1) {
  return [=](const auto& p, auto& offered) {
    if (std::invoke(field, p).size() <= least) return;
    std::invoke(field, offered.emplace_back(p)).pop_back();
  };
}

// A list without one of its elements, each in turn.
template <typename Field>
auto without_each(Field field) {
  return [=](const auto& p, auto& offered) {
    const std::size_t size = std::invoke(field, p).size();
    for (std::size_t i = 0; i < size && size > 1; ++i) {
      auto& fewer = std::invoke(field, offered.emplace_back(p));
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    }
  };
}

// A change of a problem: with(&Problem::steps, 10).
template <typename Owner, typename Value>
auto with(Value Owner::*field, std::type_identity_t<Value> value) {
  return [=](Owner& p) { p.*field = value; };
}

// A question is what a check runs.
using Question = std::function<void(CaseRunner&)>;

// One question after the other, as one check.
template <typename... Questions>
Question in_turn(Questions... questions) {
  return [=](CaseRunner& runner) { (questions(runner), ...); };
}

// A check of what a right result cost.
inline Check of_cost(std::string name, Question run) {
  return {std::move(name), std::move(run), {}, Asks::cost};
}
// A check of what ranks do when another one is lost.
inline Check of_fault(std::string name, Question run) {
  return {std::move(name), std::move(run), {}, Asks::faults};
}
// A check that says something, whatever came before it.
inline Check by_itself(std::string name, Question run) {
  return {std::move(name), std::move(run), std::vector<std::size_t>{}};
}

// The part of a problem that has the type of its numbers and what is odd in them: the problem
// itself, its script, its training, or its plan.
template <typename Problem>
auto& numbers_of(Problem& p) {
  if constexpr (requires { p.dtype; }) {
    return p;
  } else if constexpr (requires { p.script; }) {
    return p.script;
  } else if constexpr (requires { p.training; }) {
    return p.training;
  } else {
    return p.plan;
  }
}

template <typename Problem, typename Case, typename Report, typename... Services>
class RanksChecks {
 public:
  using Contract = RanksContract<Problem, Case, Report, Services...>;
  using Usual = std::type_identity_t<std::function<Problem(CaseRunner&, int ranks)>>;
  using Change = std::type_identity_t<std::function<void(Problem&)>>;
  using Cost = std::function<void(CaseRunner&, const Played&, const Problem&)>;
  // Looks at what a right case left behind, beside its results.
  using Look = std::function<void(CaseRunner&, const Played&, const Problem&, const Services&...)>;

  //   usual  draws a problem of so many ranks
  RanksChecks(Contract contract, Usual usual)
      : contract_(std::move(contract)), usual_(std::move(usual)) {}
  // The usual problem is the default one, as `fits` makes it fit its ranks.
  explicit RanksChecks(Contract contract, Change fits = {})
      : RanksChecks(std::move(contract), [fits](CaseRunner& runner, int ranks) {
          Problem p;
          p.members = whole_world(ranks);
          p.schedule_seed = runner.draw();
          if (fits) fits(p);
          return p;
        }) {}

  Problem usual(CaseRunner& runner, int ranks, const Change& change = {}) const {
    Problem p = usual_(runner, ranks);
    if (change) change(p);
    return p;
  }
  const Contract& contract() const { return contract_; }

  // These checks, with another comparison; or with a look at something else behind their own.
  RanksChecks compared(decltype(Contract::compare) compare) const {
    RanksChecks other = *this;
    other.contract_.compare = std::move(compare);
    return other;
  }
  RanksChecks then(Look look) const {
    return compared([compare = contract_.compare, look = std::move(look)](
                        CaseRunner& runner, const Played& played, const Problem& p,
                        std::uint64_t salt, const std::vector<Report>& reports,
                        const Services&... seen) {
      compare(runner, played, p, salt, reports, seen...);
      look(runner, played, p, seen...);
    });
  }

  // Judges one problem; the usual one of so many ranks, changed.
  void ask(CaseRunner& runner, const Problem& p, const Cost& cost = {},
           const Situations& asked = {}) const {
    judge(runner, contract_, p, cost, asked);
  }
  void ask(CaseRunner& runner, int ranks, const Change& change = {}, const Cost& cost = {},
           const Situations& asked = {}) const {
    ask(runner, usual(runner, ranks, change), cost, asked);
  }

  Question on(const std::vector<int>& counts, Change change = {}, Cost cost = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      for (const int ranks : counts) self.ask(runner, ranks, change, cost);
    };
  }
  Question every_size(Change change = {}) const {
    return on({std::begin(rank_counts), std::end(rank_counts)}, std::move(change));
  }
  // Problems that the exam lists.
  Question these(const std::vector<Problem>& problems, Cost cost = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      for (Problem p : problems) {
        p.schedule_seed = runner.draw();
        self.ask(runner, p, cost);
      }
    };
  }
  // Each value of a field, one after the other.
  template <typename Owner, typename Value>
  Question each(int ranks, Value Owner::*field, std::type_identity_t<std::vector<Value>> values,
                Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      for (const Value& value : values) {
        Problem p = self.usual(runner, ranks, change);
        p.*field = value;
        self.ask(runner, p);
      }
    };
  }
  Question types(const std::vector<DType>& dtypes, int ranks = 3, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      for (const DType dtype : dtypes) {
        Problem p = self.usual(runner, ranks, change);
        numbers_of(p).dtype = dtype;
        self.ask(runner, p);
      }
    };
  }
  Check any_type(Change change = {}) const {
    return {"float32, bfloat16 and float16",
            types({DType::float32, DType::bfloat16, DType::float16}, 3, std::move(change))};
  }
  // NaN, infinity and zeros: in a layer also in the gradient that arrives.
  Question odd_values(int ranks = 3, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) { self.ask_odd_values(runner, ranks, change); };
  }
  // Gradients whose sum over the ranks is infinite, and whose mean is not: 1/N comes first.
  Question large_values(int ranks = 3, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      Problem p = self.usual(runner, ranks, change);
      numbers_of(p).held = Held::large;
      self.ask(runner, p);
    };
  }
  // Ranks that are not the global ones; the second call of two finds what the first one left.
  Question in_a_subgroup(Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      self.ask(runner, self.of_subgroup(runner, change));
    };
  }
  // The second call of two finds what the first one left.
  Question twice(int ranks, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      play_twice(runner, self.contract_, self.usual(runner, ranks, change));
    };
  }
  Question twice_in_a_subgroup(Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      play_twice(runner, self.contract_, self.of_subgroup(runner, change));
    };
  }
  // The cost of a right case is looked at, also of one rank, which has nobody to send to.
  Question price(const std::vector<int>& counts, Cost cost, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      for (const int ranks : counts) {
        Situations asked;
        if (ranks == 1) asked = {Situation::price_at_the_extremes};
        self.ask(runner, ranks, change, cost, asked);
      }
    };
  }
  // Each rank of the usual problem is lost at its requests, in so many cases.
  Question lose_peers(int ranks, int cases = 14, Change change = {}) const {
    return [=, self = *this](CaseRunner& runner) {
      judge_lost_peers(runner, self.contract_, self.usual(runner, ranks, change), cases);
    };
  }
  Check lost_peers(int ranks, int cases = 14, Change change = {}) const {
    return of_fault("when a peer is lost, a rank throws CommError",
                    lose_peers(ranks, cases, std::move(change)));
  }

 private:
  Problem of_subgroup(CaseRunner& runner, const Change& change) const {
    Problem p = usual(runner, 3);
    p.members = {8, {6, 1, 4}};
    if (change) change(p);
    return p;
  }
  void ask_odd_values(CaseRunner& runner, int ranks, const Change& change) const {
    const auto ask_each = [&](const auto& kinds, auto set) {
      for (const auto kind : kinds) {
        Problem p = usual(runner, ranks, change);
        set(p, kind);
        ask(runner, p);
        if constexpr (requires { p.odd_in == Problem::Where::gradient; }) {
          p.odd_in = Problem::Where::gradient;
          ask(runner, p);
        }
      }
    };
    if constexpr (requires(Problem p) { p.odd; }) {
      ask_each(every_odd, [](Problem& p, Odd odd) { p.odd = odd; });
    } else {
      ask_each(every_held, [](Problem& p, auto held) { numbers_of(p).held = held; });
    }
  }

  Contract contract_;
  Usual usual_;
};

}  // namespace lockstep::grader
