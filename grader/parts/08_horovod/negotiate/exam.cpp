// The exam of negotiate: rounds of gradients in random orders, of which some are missing, differ,
// or have waited too long. What each is answered is in rules.hpp.
#include <algorithm>

#include "grader/judge/keyed.hpp"
#include "grader/parts/08_horovod/negotiate/rules.hpp"

namespace lockstep::grader::negotiate {
namespace {

using horovod::Outlook;

// Names of which the first twenty letters tell nothing.
std::string weight(int layer) { return text("model.decoder.layers.", layer, ".weight"); }
std::string bias(int layer) { return text("model.decoder.layers.", layer, ".bias"); }

// The gradients of a model; no two of them are of one size.
std::vector<AskedGradient> gradients_of_model(int how_many) {
  std::vector<AskedGradient> all;
  for (int i = 0; i < how_many; ++i) {
    AskedGradient& one = all.emplace_back();
    one.name = i % 2 == 0 ? weight(i / 2) : bias(i / 2);
    one.dtype = i % 5 == 4 ? DType::bfloat16 : DType::float32;
    one.shape = {i + 2};
    if (i % 2 == 0) one.shape.push_back(2 * i + 3);
  }
  return all;
}

// Each rank has each gradient with a probability, in an order of its own.
Round random_round(CaseRunner& runner, int ranks, int gradients, double probability) {
  Round round;
  const auto all = gradients_of_model(gradients);
  for (int rank = 0; rank < ranks; ++rank) {
    Brought& brought = round.emplace_back();
    const std::uint64_t seed = runner.draw();
    for (const std::int64_t at : keyed_order(gradients, seed)) {
      if (keyed_uniform(seed, 1000 + static_cast<std::uint64_t>(at)) >= probability) continue;
      brought.ready.push_back(all[static_cast<std::size_t>(at)]);
    }
  }
  return round;
}

NegotiateProblem problem_of(CaseRunner& runner, std::vector<Round> rounds) {
  const int ranks = static_cast<int>(rounds.front().size());
  return {whole_world(ranks), std::move(rounds), runner.draw()};
}

const RanksChecks checks(contract_of_rounds(), [](CaseRunner& runner, int ranks) {
  return problem_of(runner, {random_round(runner, ranks, 12, 1)});
});

void set_outlooks(Round& round, Outlook outlook) {
  for (Brought& brought : round) brought.outlook = outlook;
}

AskedGradient& find_in(Brought& brought, const std::string& name) {
  return *std::ranges::find(brought.ready, name, &AskedGradient::name);
}

void random_orders(CaseRunner& runner) {
  std::vector<int> groups(std::begin(rank_counts), std::end(rank_counts));
  groups.push_back(17);  // a mask of 16 ranks is full
  for (const int n : groups) {
    checks.ask(runner,
               problem_of(runner, {random_round(runner, n, 7, 1), random_round(runner, n, 7, 0.9),
                                   random_round(runner, n, 9, 0.7)}));
  }
}

void all_or_nothing(CaseRunner& runner) {
  for (const int n : {1, 2, 5}) {
    const Round none = random_round(runner, n, 4, 0), all = random_round(runner, n, 1, 1);
    Round one = random_round(runner, n, 3, 1);  // all but one rank have nothing
    for (std::size_t rank = 0; rank + 1 < one.size(); ++rank) one[rank].ready.clear();
    Round other = random_round(runner, n, 3, 1);
    for (std::size_t rank = 1; rank < other.size(); ++rank) other[rank].ready.clear();
    checks.ask(runner, problem_of(runner, {none, all, one, none, other, all}));
  }
}

// Backward passes: in each round every rank has more gradients, and the last round has all.
Round next_round(const Round& orders, std::size_t so_many, const std::vector<std::string>& gone) {
  Round round;
  for (const Brought& order : orders) {
    Brought& brought = round.emplace_back();
    for (std::size_t i = 0; i < std::min(so_many, order.ready.size()); ++i) {
      AskedGradient one = order.ready[i];
      if (std::ranges::find(gone, one.name) != gone.end()) continue;
      one.waited_s = static_cast<double>(so_many - i);
      brought.ready.push_back(one);
    }
  }
  return round;
}

void asked_again(CaseRunner& runner) {
  for (const int n : {2, 3, 6}) {
    std::vector<Round> rounds;
    for (int step = 0; step < 2; ++step) {  // the names of a step come again in the next
      const Round orders = random_round(runner, n, 8, 1);
      std::vector<std::string> gone;
      for (const std::size_t so_many : {3, 5, 6, 8}) {
        rounds.push_back(next_round(orders, so_many, gone));
        for (const auto& [name, verdict] : right_answers(rounds.back())) gone.push_back(name);
      }
    }
    checks.ask(runner, problem_of(runner, std::move(rounds)));
  }
}

void differing(CaseRunner& runner) {
  const auto round_with = [&](int ranks, std::size_t rank, const auto& change) {
    Round round = random_round(runner, ranks, 6, 1);
    change(find_in(round[rank], weight(1)));
    return round;
  };
  // Types of one width: bfloat16 and float16, float64 and int64.
  const auto with_type_of_one_width = [&](int ranks, const std::string& name, DType of_others,
                                          DType own) {
    Round round = random_round(runner, ranks, 6, 1);
    for (Brought& brought : round) find_in(brought, name).dtype = of_others;
    find_in(round.back(), name).dtype = own;
    return round;
  };
  using Changes = std::vector<std::function<void(AskedGradient&)>>;
  const auto shaped = [](std::vector<std::int64_t> shape) {
    return [shape = std::move(shape)](AskedGradient& one) { one.shape = shape; };
  };
  // weight(1) is [4, 7].
  const auto typed = [](DType dtype) { return [=](AskedGradient& one) { one.dtype = dtype; }; };
  // One type has the width of float32, and one shape the same digits, one after the other.
  const Changes changes{typed(DType::float64), shaped({5, 7}),    shaped({7, 4}),
                        shaped({28}),          shaped({}),        typed(DType::int32),
                        shaped({47}),          shaped({4, 7, 1}), shaped({2, 2, 7})};
  for (const int n : {2, 3, 4}) {
    std::vector<Round> rounds;
    for (const auto& change : changes) {
      rounds.push_back(round_with(n, static_cast<std::size_t>(n - 1), change));
      rounds.push_back(round_with(n, 0, change));
      set_outlooks(rounds.back(), Outlook::waits);
      // A second gradient that differs, and one that a rank does not have yet.
      find_in(rounds.back()[1], bias(0)).dtype = DType::float16;
      std::erase_if(rounds.back()[1].ready, [](const auto& one) { return one.name == bias(2); });
    }
    rounds.push_back(with_type_of_one_width(n, weight(2), DType::bfloat16, DType::float16));
    rounds.push_back(with_type_of_one_width(n, bias(1), DType::float64, DType::int64));
    checks.ask(runner, problem_of(runner, std::move(rounds)));
  }
}

// Rank `without` does not have some of them; what the others have waited differs.
Round with_gaps(CaseRunner& runner, int ranks, std::size_t without) {
  Round round = random_round(runner, ranks, 7, 1);
  for (Brought& brought : round) {
    for (AskedGradient& one : brought.ready) one.waited_s = 30 + static_cast<double>(one.shape[0]);
  }
  std::erase_if(round[without].ready, [](const auto& one) {
    return one.name == weight(1) || one.name == bias(1) || one.name == bias(2);
  });
  if (ranks < 4) return round;
  Brought& other = round[(without + static_cast<std::size_t>(ranks) - 1) % round.size()];
  std::erase_if(other.ready, [](const auto& one) { return one.name == bias(1); });
  return round;
}

// Late on rank 0, then on another rank, then where rank 0 is the one without.
void too_late(CaseRunner& runner) {
  for (const int n : {4, 2, 5}) {
    std::vector<Round> rounds;
    const auto last = static_cast<std::size_t>(n - 1);
    for (const auto& [late, without] : {std::pair{std::size_t{0}, last}, {1, last}, {1, 0}}) {
      if (late == without) continue;
      Round round = with_gaps(runner, n, without);
      find_in(round[late], weight(1)).waited_s = 61;
      find_in(round[late], bias(2)).waited_s = 60;       // at the limit, and not beyond
      find_in(round[without], weight(0)).waited_s = 90;  // ready on all ranks
      rounds.push_back(round);
      for (Brought& brought : round) brought.stall_limit_s = 32;
      rounds.push_back(std::move(round));
    }
    checks.ask(runner, problem_of(runner, std::move(rounds)));
  }
}

void stuck(CaseRunner& runner) {
  for (const int n : {2, 3, 5}) {
    const Round orders = random_round(runner, n, 6, 1);
    Round nothing_moves = orders;
    for (std::size_t rank = 0; rank < nothing_moves.size(); ++rank) {
      std::erase_if(nothing_moves[rank].ready, [&](const auto& one) {
        return static_cast<std::size_t>(one.shape[0]) % nothing_moves.size() == rank;
      });
    }
    set_outlooks(nothing_moves, Outlook::waits);
    std::vector<Round> rounds{nothing_moves};
    for (const std::size_t goes_on : {nothing_moves.size() - 1, std::size_t{0}}) {
      rounds.push_back(nothing_moves);
      rounds.back()[goes_on].outlook = Outlook::goes_on;
      // A rank that has nothing yet may still get something.
      rounds.push_back(rounds.back());
      rounds.back()[goes_on].ready.clear();
    }
    Round one_moves = nothing_moves, one_differs = nothing_moves;
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      const AskedGradient common{"common", DType::float32, {3}, 1};
      one_moves[rank].ready.push_back(common);
      one_differs[rank].ready.push_back(common);
    }
    find_in(one_differs.back(), "common").shape = {4};
    rounds.push_back(one_moves);
    rounds.push_back(one_differs);
    // One is late, too; that changes nothing for the others.
    Round one_late = nothing_moves;
    const auto some = std::ranges::find_if(one_late, [](auto& one) { return !one.ready.empty(); });
    some->ready.front().waited_s = 61;
    rounds.push_back(std::move(one_late));
    // A rank that has nothing may still get something.
    Round idle = nothing_moves;
    idle.back().ready.clear();
    idle.back().outlook = Outlook::goes_on;
    rounds.push_back(std::move(idle));
    Round none = orders;
    for (Brought& brought : none) brought.ready.clear();
    set_outlooks(none, Outlook::waits);
    rounds.push_back(none);
    checks.ask(runner, problem_of(runner, std::move(rounds)));
  }
}

NegotiateProblem of_three(CaseRunner& runner, int) {
  Round gaps = with_gaps(runner, 3, 1);
  find_in(gaps[0], weight(1)).waited_s = 100;
  Round differs = random_round(runner, 3, 5, 1);
  find_in(differs[2], bias(0)).dtype = DType::float64;
  return problem_of(runner, {random_round(runner, 3, 7, 0.8), std::move(gaps), std::move(differs)});
}

NegotiateProblem two_rounds(CaseRunner& runner, int ranks) {
  return problem_of(runner, std::vector<Round>(2, random_round(runner, ranks, 5, 1)));
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8, 13 and 17 ranks, what is ready on all ranks is reduced in rank 0's order, on "
       "every "
       "rank",
       random_orders},
      {"with nothing ready anywhere, or on one rank only, nothing is reduced", all_or_nothing},
      {"what waits is asked for again, and names come again in the next step", asked_again},
      {"a gradient whose dtype or shape differs is refused on every rank, and both are named",
       differing},
      {"what has waited for longer than the limit is stalled, with the ranks that lack it",
       too_late},
      {"when all ranks wait and nothing moves, what they have is stalled at once", stuck},
      {"in a subgroup, its rank 0 decides for its ranks",
       RanksChecks(contract_of_rounds(), of_three).in_a_subgroup()},
      of_cost("requests go to rank 0 only, and its answer to all",
              checks.price({2, 3, 8, 1}, check_bytes_of_round)),
      RanksChecks(contract_of_rounds(), two_rounds).lost_peers(3, 23),
  };
}

}  // namespace lockstep::grader::negotiate
