// The exam of sequence_parallel_region: an all-gather and a reduce-scatter, each the other's
// backward, and the gradients of what every rank uses on its slice. A rank is given its slice and
// no other's.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/parts/12_tensor_parallel/sequence_parallel_region/region.hpp"

namespace lockstep::grader::sequence_parallel_region {
namespace {

constexpr SequenceAsked each_asked[] = {SequenceAsked::gather, SequenceAsked::scatter,
                                        SequenceAsked::region};

std::vector<Problem> smaller(const Problem& p) {
  if (p.walk == LayerWalk::refused) return {};
  std::vector<Problem> offered = smaller_layers(p, 0);
  if (p.batch > 1) offered.emplace_back(p).batch = 1;
  if (p.slice > 1) offered.emplace_back(p).slice = 1;
  if (p.width > 1) offered.emplace_back(p).width = 1;
  return offered;
}

LayerContract<Problem> contract_of(CaseRunner& runner) {
  auto contract = layer_contract<Problem>(runner, layer_of, smaller);
  contract.explain = [](Failure& found, const Problem& p, const LayerService&) {
    const bool disagree = found.verdict == Verdict::mismatch || found.verdict == Verdict::deadlock;
    if (!disagree || p.options.forgotten == Forgotten::nothing) return;
    found =
        because_instead({"zeros_left_out",
                         "odd ranks lack a grad here, and one that is missing adds zeros: every "
                         "rank makes the same all-reduce, of the elements of all parameters"},
                        std::move(found));
  };
  return contract;
}

Problem usual(CaseRunner& runner, int ranks, SequenceAsked asked) {
  Problem p;
  p.members = whole_world(ranks);
  p.schedule_seed = runner.draw();
  p.options.asked = asked;
  return p;
}

// One end alone: a region on every number of ranks comes after it.
void on_few_ranks(CaseRunner& runner, SequenceAsked asked) {
  for (const int n : {3, 2, 4, 1, 5}) judge(runner, contract_of(runner), usual(runner, n, asked));
}

// One sample and one token of a slice, and more.
void any_size(CaseRunner& runner) {
  for (const SequenceAsked asked : {SequenceAsked::gather, SequenceAsked::scatter}) {
    for (const auto& [batch, slice, width] : {std::tuple{1, 3, 5}, {3, 1, 1}, {4, 5, 2}}) {
      Problem p = usual(runner, 3, asked);
      p.batch = batch;
      p.slice = slice;
      p.width = width;
      judge(runner, contract_of(runner), p);
    }
  }
}

void kept_slice(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    Problem p = usual(runner, ranks, SequenceAsked::region);
    p.options.keeps_slice = true;
    judge(runner, contract_of(runner), p);
    p.walk = LayerWalk::inference;
    judge(runner, contract_of(runner), p);
  }
}

void forgotten_grads(CaseRunner& runner) {
  for (const Forgotten forgotten : {Forgotten::bias, Forgotten::gain, Forgotten::all}) {
    for (const int ranks : {2, 3}) {
      Problem p = usual(runner, ranks, SequenceAsked::region);
      p.options.forgotten = forgotten;
      judge(runner, contract_of(runner), p);
    }
  }
}

void any_type(CaseRunner& runner) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Problem p = usual(runner, 3, SequenceAsked::region);
    p.dtype = dtype;
    judge(runner, contract_of(runner), p);
  }
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    for (const SequenceAsked asked : {SequenceAsked::scatter, SequenceAsked::region}) {
      Problem p = usual(runner, 3, asked);
      p.odd = odd;
      judge(runner, contract_of(runner), p);
      if (asked == SequenceAsked::scatter) p.options.asked = SequenceAsked::gather;
      p.odd_in = LayerProblem::Where::gradient;
      judge(runner, contract_of(runner), p);
    }
  }
}

void several_passes(CaseRunner& runner) {
  for (const SequenceAsked asked : each_asked) {
    Problem p = usual(runner, 3, asked);
    p.back = {2, 0, 1};
    judge(runner, contract_of(runner), p);
    p.walk = LayerWalk::in_halves;
    p.back = {0, 1};
    judge(runner, contract_of(runner), p);
  }
  Problem p = usual(runner, 8, SequenceAsked::region);
  p.members.ranks = {6, 1, 4};
  play_twice(runner, contract_of(runner), p);
}

void refused(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    Problem p = usual(runner, ranks, SequenceAsked::scatter);
    p.walk = LayerWalk::refused;
    p.tokens_too_many = ranks - 1;
    judge(runner, contract_of(runner), p);
  }
  for (const SequenceAsked asked : {SequenceAsked::gather, SequenceAsked::scatter}) {
    Problem p = usual(runner, 2, asked);
    p.walk = LayerWalk::refused;
    p.dimensions = 2;
    judge(runner, contract_of(runner), p);
  }
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const double once = shard_bytes(p.whole_bytes(), p.ranks());
  const bool again = p.is_region() && p.options.keeps_slice;
  LayerPrice price{
      .forward = once, .backward = once, .forward_collectives = 1, .backward_collectives = 1};
  const bool gathers = p.options.asked == SequenceAsked::gather;
  price.forward_words = gathers ? "an all-gather forward" : "a reduce-scatter forward";
  price.backward_words = gathers ? "a reduce-scatter backward" : "an all-gather backward";
  if (p.is_region()) {
    // The grads of gain, shift and bias.
    const double grads =
        ring_bytes(3 * p.width * static_cast<std::int64_t>(bytes_of(p.dtype)), p.ranks());
    price.forward = 2 * once;
    price.backward = (again ? 3 : 2) * once + grads;
    price.backward_collectives = again ? 3 : 2;
    price.forward_words = "an all-gather and a reduce-scatter forward";
    price.backward_words =
        text("the same backward", again ? ", an all-gather for the slice that was kept" : "",
             ", and an all-reduce of three small gradients");
  }
  const double right = price.forward + (p.walk == LayerWalk::whole ? price.backward : 0);
  const bool gathers_again = p.is_region() && p.walk == LayerWalk::whole && !again;
  const Cause all_reduced{"all_reduced",
                          "a tensor is all-reduced, of which each rank needs its slice alone: a "
                          "reduce-scatter sends half as much"};
  price.mistakes = {
      {right + once,
       gathers_again
           ? Cause{"gathered_again",
                   "a tensor is gathered once more than needed: with Kept::whole, backward has it"}
           : all_reduced},
      {right + 2 * once, all_reduced}};
  check_layer_price(runner, played, p, price);
}

void cost(CaseRunner& runner) {
  for (const SequenceAsked asked : each_asked) {
    for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
      Problem p = usual(runner, 4, asked);
      p.walk = walk;
      p.slice = 6;
      judge(runner, contract_of(runner), p, check_cost);
    }
  }
  Problem p = usual(runner, 3, SequenceAsked::region);
  p.options.keeps_slice = true;
  judge(runner, contract_of(runner), p, check_cost);
  p = usual(runner, 1, SequenceAsked::region);
  p.slice = 2000;
  judge(runner, contract_of(runner), p, check_cost, {Situation::price_at_the_extremes});
}

// Gathered tensors of 3.5 MB, which are gathered again. Of each of two passes, a slice and the
// output stay. The adapter has two inputs, a gradient, and four parameters.
void memory(CaseRunner& runner) {
  Problem p = usual(runner, 4, SequenceAsked::region);
  p.options.keeps_slice = true;
  p.batch = 1;
  p.slice = p.width = 1;
  p.fill = 110'000;
  p.back = {0, 1};
  auto contract = contract_of(runner);
  contract.compare = [](CaseRunner& at, const Played& played, const Problem& q, std::uint64_t,
                        const LayerReports& reports, const LayerService& seen) {
    compare_layer(at, played, q, reports, seen);
    const std::int64_t slice = q.whole_bytes() / q.ranks();
    for (int rank = 0; rank < q.ranks(); ++rank) {
      check_member_memory(
          at, played, rank, seen.of(rank).forward,
          {.tensor_bytes = 4 * slice + 4096,
           .adapter_bytes = 7 * slice,
           .of_what = "slices and outputs, after the forward passes",
           .cause = {"whole_kept",
                     "a gathered tensor stays until backward; with Kept::slice, only the slice "
                     "stays, and Value::remake gathers it again"}});
    }
  };
  judge(runner, contract, p);
}

}  // namespace

Exam exam() {
  return {
      {"gather_sequence on 1 to 5 ranks: slices are gathered, gradients summed and cut",
       [](CaseRunner& runner) { on_few_ranks(runner, SequenceAsked::gather); }},
      {"scatter_sum_sequence on as many: terms are summed and cut, gradients gathered",
       [](CaseRunner& runner) { on_few_ranks(runner, SequenceAsked::scatter); },
       std::vector<std::size_t>{}},
      {"a region between them on 1 to 8 and 13 ranks: the numbers are those of whole sequences",
       [](CaseRunner& runner) {
         for (const int n : rank_counts) {
           judge(runner, contract_of(runner), usual(runner, n, SequenceAsked::region));
         }
       }},
      {"any number of samples, tokens and columns", any_size},
      {"with Kept::slice, the same numbers, also for inference", kept_slice},
      {"a parameter that has no grad on a rank adds zeros", forgotten_grads},
      {"float32, bfloat16 and float16", any_type},
      {"NaN, infinity and zeros go the same ways", odd_values},
      {"several passes in flight, in any order, in two halves; in a subgroup, twice",
       several_passes},
      {"sequences that do not divide, or have two dimensions, are refused before anything is sent",
       refused},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         judge_lost_peers(runner, contract_of(runner), usual(runner, 3, SequenceAsked::region));
       },
       {},
       Asks::cost},
      {"a region sends what f and g send: a gather and a scatter each way", cost, {}, Asks::cost},
      {"with Kept::slice, no gathered tensor stays for backward", memory, {}, Asks::cost},
  };
}

}  // namespace lockstep::grader::sequence_parallel_region
