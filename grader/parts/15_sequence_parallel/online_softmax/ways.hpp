// Ways to merge two partial results, number by number: the right one, and usual mistakes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/15_sequence_parallel/online_softmax/case.hpp"

namespace lockstep::grader::online_softmax {

using sequence_parallel::Partial;

constexpr double no_key = -std::numeric_limits<double>::infinity();

// A log-sum, and one element of the output.
struct Element {
  double log_sum = no_key, output = 0;
};
using Merging = Element (*)(Element so_far, Element block);

// The larger weight of a finite pair is 1.
struct Weights {
  Weights(Element a, Element b)
      : most(std::max(a.log_sum, b.log_sum)),
        of_a(std::exp(a.log_sum - most)),
        of_b(std::exp(b.log_sum - most)) {}
  double sum() const { return of_a + of_b; }

  double most, of_a, of_b;
};

inline Element merged(Element a, Element b) {
  if (a.log_sum == no_key && b.log_sum == no_key) return {};
  const Weights w(a, b);
  return {w.most + std::log(w.sum()), (w.of_a * a.output + w.of_b * b.output) / w.sum()};
}

// The partial result that the merges of a question leave at place 0.
inline Partial merged_by(Merging merging, const MergeQuestion& q) {
  std::vector<Partial> all = q.partials;
  for (const auto& [into, from] : q.merges) {
    Partial& a = all[static_cast<std::size_t>(into)];
    const Partial& b = all[static_cast<std::size_t>(from)];
    // Without an element, the log-sums are still merged.
    const double log_sum = merging({a.log_sum, 0}, {b.log_sum, 0}).log_sum;
    for (std::size_t d = 0; d < a.output.size(); ++d) {
      a.output[d] = merging({a.log_sum, a.output[d]}, {b.log_sum, b.output[d]}).output;
    }
    a.log_sum = log_sum;
  }
  return all.front();
}

struct KnownMerging {
  Cause cause;
  Merging merging;
};
inline const std::vector<KnownMerging>& wrong_ways() {
  static const std::vector<KnownMerging> all{
      {{"averaged",
        "the two outputs are averaged; each weighs as much as its exponentials together, "
        "e^log_sum"},
       [](Element a, Element b) {
         return Element{merged(a, b).log_sum, (a.output + b.output) / 2};
       }},
      {{"added", "the two outputs are added; each is a mean already, so their weights add up to 1"},
       [](Element a, Element b) {
         return Element{merged(a, b).log_sum, a.output + b.output};
       }},
      {{"old_not_rescaled",
        "the block's output is weighted and added, but what was there before is not weighted anew"},
       [](Element a, Element b) {
         const Weights w(a, b);
         return Element{merged(a, b).log_sum, a.output + w.of_b / w.sum() * b.output};
       }},
      {{"block_not_weighted",
        "what was there before is weighted anew, but the block's output is added as it is"},
       [](Element a, Element b) {
         const Weights w(a, b);
         return Element{merged(a, b).log_sum, w.of_a / w.sum() * a.output + b.output};
       }},
      {{"weights_swapped", "each output has the weight of the other one"},
       [](Element a, Element b) {
         const Weights w(a, b);
         return Element{merged(a, b).log_sum, (w.of_b * a.output + w.of_a * b.output) / w.sum()};
       }},
      {{"not_divided", "the weighted outputs are added, but not divided by the sum of the weights"},
       [](Element a, Element b) {
         const Weights w(a, b);
         return Element{merged(a, b).log_sum, w.of_a * a.output + w.of_b * b.output};
       }},
      {{"weighted_by_log_sums", "the weights are the log-sums themselves; take their exponentials"},
       [](Element a, Element b) {
         const double sum = a.log_sum + b.log_sum;
         return Element{merged(a, b).log_sum, (a.log_sum * a.output + b.log_sum * b.output) / sum};
       }},
      {{"log_sum_kept",
        "the output is merged, and the log-sum is still the old one: the next merge weighs "
        "wrongly"},
       [](Element a, Element b) {
         return Element{a.log_sum, merged(a, b).output};
       }},
      {{"larger_log_sum",
        "the log-sum is the larger one of the two; the exponentials of both belong to it"},
       [](Element a, Element b) {
         return Element{std::max(a.log_sum, b.log_sum), merged(a, b).output};
       }},
      {{"log_sum_of_block", "the log-sum is that of the block alone"},
       [](Element a, Element b) {
         return Element{b.log_sum, merged(a, b).output};
       }},
      {{"log_sums_added",
        "the two log-sums are added, which multiplies the sums; add the exponentials"},
       [](Element a, Element b) {
         return Element{a.log_sum + b.log_sum, merged(a, b).output};
       }},
      {{"maximum_left_out",
        "what was taken out of the exponents is not added to the log-sum again"},
       [](Element a, Element b) {
         return Element{std::log(Weights(a, b).sum()), merged(a, b).output};
       }},
      {{"log_sum_overwritten",
        "into's log-sum is the merged one already when its weight is made from it; write it after "
        "the output"},
       [](Element a, Element b) {
         const Element both = merged(a, b);
         const Weights w({both.log_sum}, b);
         return Element{both.log_sum, (w.of_a * a.output + w.of_b * b.output) / w.sum()};
       }},
      {{"sign_of_difference",
        "the output is right, and the log-sum is the larger one plus log(1 + e^|difference|); the "
        "exponent is -|difference|"},
       [](Element a, Element b) {
         const double apart = std::fabs(a.log_sum - b.log_sum);
         return Element{std::max(a.log_sum, b.log_sum) + std::log1p(std::exp(apart)),
                        merged(a, b).output};
       }},
      {{"last_block", "this is the last block alone"}, [](Element, Element b) { return b; }},
      {{"first_block", "the block is not in it"}, [](Element a, Element) { return a; }},
  };
  return all;
}

}  // namespace lockstep::grader::online_softmax
