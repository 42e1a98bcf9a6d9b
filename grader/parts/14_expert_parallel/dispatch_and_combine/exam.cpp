// The exam of dispatch_and_combine. A rank is given its tokens, their plan and its own experts. The
// judge computes with all experts on one device, and counts what travels.
#include "engine/base/units.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/parts/14_expert_parallel/dispatch_and_combine/problem.hpp"

namespace lockstep::grader::dispatch_and_combine {
namespace {

std::vector<Problem> smaller(const Problem& p) {
  if (p.walk == LayerWalk::refused) return {};
  std::vector<Problem> offered = smaller_layers(p, p.experts);
  for (Problem& few : offered) few.tokens.resize(static_cast<std::size_t>(few.ranks()));
  if (p.width > 1) offered.emplace_back(p).width = 1;
  if (p.k > 1) offered.emplace_back(p).k = 1;
  if (p.experts > p.ranks()) offered.emplace_back(p).experts = p.ranks();
  std::erase_if(offered, [](const Problem& one) { return one.k > one.experts; });
  return offered;
}

LayerContract<Problem> contract_of(CaseRunner& runner) {
  auto contract = layer_contract<Problem>(runner, layer_of, smaller);
  contract.case_of = [](const Problem& p, std::uint64_t salt, int rank) {
    LayerCase one = layer_case(p, layer_of(p, salt), rank);
    one.options = options_of(plan_of(p, salt, rank));
    return one;
  };
  contract.explain = [](Failure& found, const Problem&, const LayerService&) {
    if (found.message.find("exchange_rows: x has") == std::string::npos) return;
    found =
        because({"wrong_counts",
                 "the counts of an exchange are not those of its rows; on the way back, rows go "
                 "where they came from, so from_ranks and to_ranks change places"},
                std::move(found));
  };
  return contract;
}

Problem usual(CaseRunner& runner, int ranks, const std::function<void(Problem&)>& change = {}) {
  Problem p;
  p.members = whole_world(ranks);
  p.tokens.assign(static_cast<std::size_t>(ranks), ranks > 4 ? 3 : 5);
  p.experts = ranks > 4 ? ranks : 2 * ranks;
  if (ranks > 6) p.width = 1;
  p.schedule_seed = runner.draw();
  if (change) change(p);
  return p;
}
void judge_usual(CaseRunner& runner, int ranks, const std::function<void(Problem&)>& change = {}) {
  judge(runner, contract_of(runner), usual(runner, ranks, change));
}

void other_plans(CaseRunner& runner) {
  judge_usual(runner, 2, [](Problem& p) {
    p.capacity = 1;  // most choices are dropped
    p.tokens = {6, 9};
  });
  judge_usual(runner, 3, [](Problem& p) { p.k = 1; });
  judge_usual(runner, 2, [](Problem& p) {
    p.experts = 6;
    p.k = 6;
    p.width = 5;
  });
}

void unequal(CaseRunner& runner) {
  for (const std::vector<std::int64_t>& tokens :
       {std::vector<std::int64_t>{4, 0, 7}, {0, 0, 3}, {1, 9}, {0, 5}}) {
    judge_usual(runner, static_cast<int>(tokens.size()), [&](Problem& p) { p.tokens = tokens; });
  }
  for (const std::vector<std::int64_t>& tokens :
       {std::vector<std::int64_t>{5, 5, 5}, {4, 0}}) {  // a rank has neither tokens nor rows
    judge_usual(runner, static_cast<int>(tokens.size()), [&](Problem& p) {
      p.tokens = tokens;
      p.choices = Choices::to_one;
      p.k = 1;
    });
  }
}

void other_walks(CaseRunner& runner) {
  judge_usual(runner, 3, [](Problem& p) { p.back = {2, 0, 1}; });
  judge_usual(runner, 2, [](Problem& p) { p.walk = LayerWalk::inference; });
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    judge_usual(runner, 2, [&](Problem& p) { p.dtype = dtype; });
  }
  play_twice(runner, contract_of(runner), usual(runner, 3, [](Problem& p) {
               p.members = {8, {6, 1, 4}};
             }));
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    for (const auto where : {LayerProblem::Where::input, LayerProblem::Where::gradient}) {
      judge_usual(runner, 2, [&](Problem& p) {
        p.odd = odd;
        p.odd_in = where;
      });
    }
  }
}

void refused(CaseRunner& runner) {
  for (const Misfit misfit : {Misfit::experts, Misfit::tokens, Misfit::weights}) {
    judge_usual(runner, 2, [&](Problem& p) {
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

void cost(CaseRunner& runner) {
  const auto judge_cost = [&](int ranks, LayerWalk walk, const Situations& asked) {
    judge(runner, contract_of(runner),
          usual(runner, ranks,
                [&](Problem& p) {
                  p.walk = walk;
                  p.choices = Choices::even;
                  p.experts = 3 * ranks;
                  p.tokens.assign(p.tokens.size(), 6 * ranks);
                }),
          check_cost, asked);
  };
  for (const int ranks : {2, 4}) {
    judge_cost(ranks, LayerWalk::inference, {});
    judge_cost(ranks, LayerWalk::whole, {});
  }
  judge_cost(1, LayerWalk::whole, {Situation::price_at_the_extremes});
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, output and gradients are those of all experts on one device",
       [](CaseRunner& runner) {
         for (const int n : rank_counts) judge_usual(runner, n);
       },
       std::vector<std::size_t>{}},
      {"any number of choices and experts, and choices that were dropped", other_plans},
      {"ranks with other numbers of tokens, and with none; experts without rows", unequal},
      {"several passes in flight, inference, other types; in a subgroup, twice", other_walks},
      {"NaN, infinity and zeros go where their token goes", odd_values},
      {"experts, tokens and weights that do not fit are refused before anything is sent", refused},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         judge_lost_peers(runner, contract_of(runner), usual(runner, 3), 10);
       },
       {},
       Asks::cost},
      {"counts travel, and then the rows that are placed: to their experts, and back",
       cost,
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::dispatch_and_combine
