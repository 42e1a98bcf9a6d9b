// The exam of dispatch_and_combine. A rank is given its tokens, their plan and its own experts. The
// judge computes with all experts on one device, and counts what travels.
#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/14_expert_parallel/dispatch_and_combine/problem.hpp"

namespace lockstep::grader::dispatch_and_combine {
namespace {

// As many lists of tokens as ranks, and no more choices than experts.
std::vector<Problem> smaller(const Problem& p) {
  const auto smaller_sizes =
      smaller_layer_by(&Problem::experts, down_to(&Problem::width, 1), down_to(&Problem::k, 1),
                       [](const Problem& one, std::vector<Problem>& offered) {
                         if (one.experts > one.ranks())
                           offered.emplace_back(one).experts = one.ranks();
                       });
  std::vector<Problem> offered = smaller_sizes(p);
  for (Problem& few : offered) few.tokens.resize(static_cast<std::size_t>(few.ranks()));
  std::erase_if(offered, [](const Problem& one) { return one.k > one.experts; });
  return offered;
}

LayerContract<Problem> contract() {
  auto contract = layer_contract<Problem>(layer_of, smaller);
  contract.case_of = [](const Problem& p, std::uint64_t salt, int rank) {
    LayerCase one = layer_case(p, layer_of(p, salt), rank);
    one.options = options_of(plan_of(p, salt, rank));
    return one;
  };
  contract.explain = [](Failure& found, const Problem&, const LayerService&) {
    if (found.cause == "returned_early") {
      found = because({"returned_early",
                       "a rank without tokens or rows left before the others; it joins all "
                       "exchanges, and calls `mine` also without rows"},
                      std::move(found));
    }
    if (found.message.find("exchange_rows: the counts of to_ranks") == std::string::npos) return;
    found =
        because({"wrong_counts",
                 "the counts of an exchange are not those of its rows; on the way back, rows go "
                 "where they came from, so from_ranks and to_ranks change places"},
                std::move(found));
  };
  return contract;
}

const RanksChecks checks(contract(), [](Problem& p) {
  const int n = p.ranks();
  p.tokens.assign(static_cast<std::size_t>(n), n > 4 ? 3 : 5);
  p.experts = n > 4 ? n : std::int64_t{2} * n;
  if (n > 6) p.width = 1;
});

void other_plans(CaseRunner& runner) {
  checks.ask(runner, 2, [](Problem& p) {
    p.capacity = 1;  // most choices are dropped
    p.tokens = {6, 9};
  });
  checks.ask(runner, 3, with(&Problem::k, 1));
  checks.ask(runner, 2, [](Problem& p) {
    p.experts = 6;
    p.k = 6;
    p.width = 5;
  });
}

void unequal(CaseRunner& runner) {
  for (const std::vector<std::int64_t>& tokens :
       {std::vector<std::int64_t>{4, 0, 7}, {0, 0, 3}, {1, 9}, {0, 5}}) {
    checks.ask(runner, static_cast<int>(tokens.size()), [&](Problem& p) { p.tokens = tokens; });
  }
  for (const std::vector<std::int64_t>& tokens :
       {std::vector<std::int64_t>{5, 5, 5}, {4, 0}}) {  // a rank has neither tokens nor rows
    checks.ask(runner, static_cast<int>(tokens.size()), [&](Problem& p) {
      p.tokens = tokens;
      p.choices = Choices::to_one;
      p.k = 1;
    });
  }
}

void other_walks(CaseRunner& runner) {
  checks.ask(runner, 3, with(&Problem::back, {2, 0, 1}));
  checks.ask(runner, 2, with(&Problem::walk, LayerWalk::inference));
  checks.ask(runner, 2, [](Problem& p) {  // more rows of an expert than 16 bits count
    p.dtype = DType::bfloat16, p.choices = Choices::to_one;
    p.tokens = {259, 261}, p.k = p.width = 1;
  });
}

void refused(CaseRunner& runner) {
  for (const Misfit misfit : {Misfit::experts, Misfit::tokens, Misfit::weights}) {
    checks.ask(runner, 2, [&](Problem& p) {
      p.walk = LayerWalk::refused;
      p.misfit = misfit;
      if (misfit == Misfit::experts) p.experts = 5;
    });
  }
}

// With as many places for each expert on each rank, so that each exchange costs one price.
void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const auto width = static_cast<std::int64_t>(bytes_of(p.dtype));
  const std::int64_t places = p.tokens.front() * p.k, row = p.width * width;
  const double rows = shard_bytes(places * row, p.ranks());
  LayerPrice price{.forward = shard_bytes(p.experts * 8, p.ranks()) + 2 * rows,
                   .forward_collectives = 3};
  price.forward_words = "counts, rows to their experts and results back";
  const double passes = p.trains() ? 2 : 1;
  // Counts, and the rows that stay where they are.
  price.unneeded = shard_bytes(p.experts * 8, p.ranks()) + passes * 2 * rows / p.ranks();
  if (p.trains()) {
    price.backward = 2 * rows;
    price.backward_collectives = 2;
    price.backward_words = "the same ways for the gradients";
  }
  const double slots = shard_bytes(p.experts * p.tokens.front() * row, p.ranks());
  const double counts = shard_bytes(p.experts * 8, p.ranks());
  const Cause padded{"padded",
                     "all slots of an expert travel, also empty ones; with counts that go first, "
                     "only the rows that there are need to"};
  const Cause gathered{"gathered",
                       "each rank gets all tokens; a token has to go only to the ranks of the "
                       "experts that it chose"};
  const double tokens = (p.ranks() - 1) * static_cast<double>(p.tokens.front() * row);
  for (const double counted : {0.0, counts}) {
    price.mistakes.push_back({passes * 2 * slots + counted, padded});
    price.mistakes.push_back({passes * (slots + rows) + counted, padded});
    price.mistakes.push_back({tokens + passes * 2 * rows + counted, gathered});
    price.mistakes.push_back({tokens + (passes * 2 - 1) * rows + counted, gathered});
  }
  check_layer_price(runner, played, p, price);
}

Question price(const std::vector<int>& counts, LayerWalk walk) {
  return checks.price(counts, check_cost, [=](Problem& p) {
    p.walk = walk;
    p.choices = Choices::even;
    p.width = 20;  // so that an expert's matrix has more bytes than the rows that come to it
    p.experts = std::int64_t{3} * p.ranks();
    p.tokens.assign(p.tokens.size(), std::int64_t{6} * p.ranks());
  });
}

}  // namespace

Exam exam() {
  return {
      by_itself("on 1 to 8 and 13 ranks, output and gradients are those of all experts on one "
                "device",
                checks.every_size()),
      {"any number of choices and experts, and choices that were dropped", other_plans},
      {"ranks with other numbers of tokens, and with none; experts without rows", unequal},
      {"several passes in flight, inference, constants, other types; in a subgroup, twice",
       in_turn(other_walks, constants_of(checks),
               checks.types({DType::float32, DType::bfloat16}, 2), checks.twice_in_a_subgroup())},
      {"NaN, infinity and zeros go where their token goes", checks.odd_values(2)},
      {"experts, tokens and weights that do not fit are refused before anything is sent", refused},
      checks.lost_peers(3, 10),
      of_cost("counts travel, and then the rows that are placed: to their experts, and back",
              in_turn(price({2, 4}, LayerWalk::inference), price({2, 4, 1}, LayerWalk::whole))),
  };
}

}  // namespace lockstep::grader::dispatch_and_combine
