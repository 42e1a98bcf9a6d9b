#include "grader/dev/liars.hpp"

#include <algorithm>
#include <iterator>

namespace lockstep::grader {

const std::vector<Liar>& liars() {
  static const std::vector<Liar> all{
      {"activation_checkpoint", "best_numbers", {9}},
      {"activation_checkpoint", "keeps_everything", {9, 10, 11, 12}},
      {"async_checkpoint", "loses_errors", {4}},
      {"column_parallel_linear", "early_weights", {6}},
      {"column_parallel_linear", "hoards", {11}},
      {"column_parallel_linear", "hoards_runs", {11}},
      {"data_parallel_threads", "reaches_around", {1, 2, 3, 4, 6}},
      {"fully_sharded", "hoards", {8}},
      {"fully_sharded", "keeps_units", {8, 9}},
      {"offload_optimizer", "never", {6, 7, 8, 9}},
      {"prefetching_loader", "hoards", {2, 5}},
      {"rank0_checkpoint", "remembers", {3, 4, 5, 6, 8}},
      {"ring_attention", "charges_ahead", {11}},
      {"ring_attention", "computes_unseen", {11}},
      {"ring_attention", "hoards", {10}},
      {"ring_attention", "hoards_runs", {10}},
      {"row_parallel_linear", "hoards", {11}},
      {"run_stage", "computes_in_no_time", {14}},
      {"run_stage", "hoards", {13}},
      {"run_stage", "hoards_runs", {13}},
      {"sequence_parallel_region", "hoards", {13}},
      {"sequence_parallel_region", "keeps_whole", {12, 13}},
      {"ulysses_attention", "knows_all", {7}},
      {"vocab_parallel_cross_entropy", "hoards", {11}},
      {"zero_1_optimizer", "hoards", {8}},
      {"zero_1_optimizer", "hoards_runs", {8}},
      {"zero_1_optimizer", "scratch", {8}},
      {"zero_1_optimizer", "second_buffer", {8}},
      {"zero_2_gradients", "hoards", {10}},
      {"zero_2_gradients", "hoards_runs", {10}},
  };
  return all;
}

std::vector<Liar> liars_of(const Exercise& exercise) {
  std::vector<Liar> mine;
  std::ranges::copy_if(liars(), std::back_inserter(mine),
                       [&](const Liar& liar) { return liar.exercise == exercise.name; });
  return mine;
}

}  // namespace lockstep::grader
