// A softmax over keys that come block by block. Attention to a block leaves its output and its
// log-sum, log Σ exp of the scores, and these two are enough to go on: with the log-sum, a block's
// output is known to stand for Σ exp(score)·v, up to a factor that both blocks share.
//   D size of a head
// Source: [MG18] §3 (sums that are rescaled), [DFE22] §3.1
#pragma once

#include <limits>
#include <vector>

namespace lockstep::sequence_parallel {

// The attention of one query, in one head, to some of the keys.
struct Partial {
  // log Σ exp(score) over these keys; -∞ of no key.
  double log_sum = -std::numeric_limits<double>::infinity();
  std::vector<double> output;  // [D], the mean of their values, weighted by exp(score); 0 of no key
};

// Merges a block into the result so far: into = attention to the keys of both. A part: defined in
// solutions/15_sequence_parallel.
//   into     over the keys so far, or over none
//   block    over keys of which none is among these, or over none; of as many elements. It is not
//            changed
//   Ensures  blocks in any order give the same, up to rounding, and so does a tree of them. Large
//            log-sums are fine, such as ±1e4: no exponential is of more than 0. No key and no key
//            is no key again, and never NaN; a NaN of a block that has keys stays one
//   Time     O(D)
void merge(Partial& into, const Partial& block);

}  // namespace lockstep::sequence_parallel
