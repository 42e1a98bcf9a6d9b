// The exam of sequence_parallel_region: an all-gather and a reduce-scatter, each the other's
// backward, and the gradients of what every rank uses on its slice. A rank is given its slice and
// no other's.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/12_tensor_parallel/sequence_parallel_region/region.hpp"

namespace lockstep::grader::sequence_parallel_region {
namespace {

constexpr SequenceAsked each_asked[] = {SequenceAsked::gather, SequenceAsked::scatter,
                                        SequenceAsked::region};

LayerContract<Problem> contract() {
  auto contract = layer_contract<Problem>(
      layer_of, smaller_layer_by(any_ranks, down_to(&Problem::batch, 1),
                                 down_to(&Problem::slice, 1), down_to(&Problem::width, 1)));
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

const RanksChecks checks(contract());

std::function<void(Problem&)> with(SequenceAsked asked) {
  return [=](Problem& p) { p.options.asked = asked; };
}
const auto region = with(SequenceAsked::region);

// One end alone: a region on every number of ranks comes after it.
Question on_few_ranks(SequenceAsked asked) { return checks.on({3, 2, 4, 1, 5}, with(asked)); }

// One sample and one token of a slice, and more.
void any_size(CaseRunner& runner) {
  for (const SequenceAsked asked : {SequenceAsked::gather, SequenceAsked::scatter}) {
    for (const auto& [batch, slice, width] : {std::tuple{1, 3, 5}, {3, 1, 1}, {4, 5, 2}}) {
      Problem p = checks.usual(runner, 3, with(asked));
      p.batch = batch;
      p.slice = slice;
      p.width = width;
      checks.ask(runner, p);
    }
  }
}

void kept_slice(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    Problem p = checks.usual(runner, ranks, region);
    p.options.keeps_slice = true;
    checks.ask(runner, p);
    p.walk = LayerWalk::inference;
    checks.ask(runner, p);
  }
}

void forgotten_grads(CaseRunner& runner) {
  for (const Forgotten forgotten :
       {Forgotten::bias, Forgotten::gain, Forgotten::all, Forgotten::alone}) {
    checks.on({2, 3}, [=](Problem& p) {
      region(p);
      p.options.forgotten = forgotten;
    })(runner);
  }
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    for (const SequenceAsked asked : {SequenceAsked::scatter, SequenceAsked::region}) {
      Problem p = checks.usual(runner, 3, with(asked));
      p.odd = odd;
      checks.ask(runner, p);
      if (asked == SequenceAsked::scatter) p.options.asked = SequenceAsked::gather;
      p.odd_in = LayerProblem::Where::gradient;
      checks.ask(runner, p);
    }
  }
}

void several_passes(CaseRunner& runner) {
  for (const SequenceAsked asked : each_asked) {
    Problem p = checks.usual(runner, 3, with(asked));
    p.back = {2, 0, 1};
    checks.ask(runner, p);
    p.walk = LayerWalk::in_halves;
    p.back = {0, 1};
    checks.ask(runner, p);
  }
}

void refused(CaseRunner& runner) {
  checks.on({2, 3}, [](Problem& p) {
    p.options.asked = SequenceAsked::scatter;
    p.walk = LayerWalk::refused;
    p.tokens_too_many = p.ranks() - 1;
  })(runner);
  for (const SequenceAsked asked : {SequenceAsked::gather, SequenceAsked::scatter}) {
    checks.ask(runner, 2, [&](Problem& p) {
      p.options.asked = asked;
      p.walk = LayerWalk::refused;
      p.dimensions = 2;
    });
  }
}

// With Kept::slice, backward gathers once more what it reads.
void check_gathered_again(CaseRunner& runner, const Played& played, const Problem& p) {
  if (!p.is_region() || !p.options.keeps_slice || p.walk != LayerWalk::whole) return;
  const double once = shard_bytes(p.whole_bytes(), p.ranks());
  check_wire_least(runner, played, 5 * once * static_cast<double>(p.passes()),
                   "with Kept::slice three all-gathers and two reduce-scatters in each pass",
                   {"whole_kept",
                    "what is not gathered again for backward was kept: only the slice stays, and "
                    "Value::remake gathers it"});
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  check_gathered_again(runner, played, p);
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
  if (bytes_of(p.dtype) == 2) {  // asked behind float64, of which nothing is sent twice
    const Cause wider{"wider_type",
                      "halves travel in a type that is twice as wide; collectives move a tensor of "
                      "any type as it is"};
    price.mistakes = {{right + once, wider}, {right + 2 * once, wider}, {right + 4 * once, wider}};
  }
  check_layer_price(runner, played, p, price);
}

void cost(CaseRunner& runner) {
  for (const SequenceAsked asked : each_asked) {
    for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
      checks.ask(
          runner, 4,
          [&](Problem& p) {
            p.options.asked = asked;
            p.walk = walk;
            p.slice = 6;
          },
          check_cost);
    }
  }
  Problem p = checks.usual(runner, 3, region);
  p.options.keeps_slice = true;
  checks.ask(runner, p, check_cost);
  p = checks.usual(runner, 2, region);
  p.dtype = DType::bfloat16;
  checks.ask(runner, p, check_cost);
  p = checks.usual(runner, 1, region);
  p.slice = 2000;
  checks.ask(runner, p, check_cost, {Situation::price_at_the_extremes});
}

// A slice and the output stay, of each of two passes. The adapter has two inputs, a gradient, and
// four parameters; the case, of two inputs and four parameters, in two forms: as it came, and taken
// apart; and the output that it shows, in two forms.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const LayerService& seen) {
  const std::int64_t slice = p.whole_bytes() / p.ranks();
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_member_memory(
        runner, played, rank, seen.of(rank).forward,
        {.tensor_bytes = 4 * slice + 4096,
         .adapter_bytes = (7 + 2 * 6 + 2) * slice,
         .of_what = "slices and outputs, after the forward passes",
         .cause = {"whole_kept",
                   "a gathered tensor stays until backward; with Kept::slice, only the slice "
                   "stays, and Value::remake gathers it again"}});
  }
}

// Gathered tensors of 2 MB, two of them, which are gathered again.
void large_slices(Problem& p) {
  region(p);
  p.options.keeps_slice = true;
  p.batch = p.slice = 1;
  p.width = 60'000;
  p.back = {0, 1};
}

}  // namespace

Exam exam() {
  return {
      {"gather_sequence on 1 to 5 ranks: slices are gathered, gradients summed and cut",
       on_few_ranks(SequenceAsked::gather)},
      by_itself("scatter_sum_sequence on as many: terms are summed and cut, gradients gathered",
                on_few_ranks(SequenceAsked::scatter)),
      {"a region between them on 1 to 8 and 13 ranks: the numbers are those of whole sequences",
       checks.every_size(region)},
      {"any number of samples, tokens and columns", any_size},
      {"with Kept::slice, the same numbers, also for inference", kept_slice},
      {"a parameter that has no grad on a rank adds zeros", forgotten_grads},
      checks.any_type(region),
      {"NaN, infinity and zeros go the same ways", odd_values},
      {"several passes in flight, in any order, in two halves; in a subgroup, twice",
       in_turn(several_passes, checks.twice_in_a_subgroup(region))},
      {"sequences that do not divide, or have two dimensions, are refused before anything is sent",
       refused},
      checks.lost_peers(3, 14, region),
      of_cost("a region sends what f and g send: a gather and a scatter each way", cost),
      of_cost("with Kept::slice, no gathered tensor stays for backward",
              checks.then(check_memory).on({4}, large_slices, check_gathered_again)),
  };
}

}  // namespace lockstep::grader::sequence_parallel_region
