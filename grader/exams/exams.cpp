#include "grader/exams/exams.hpp"

namespace lockstep::grader {

const std::map<std::string, DeclaredExam>& exams() {
  // With each exam, how many cases its checks play; written by hand, since a number that the exam
  // itself computed would agree with whatever it plays.
  static const std::map<std::string, DeclaredExam> all{
      {"model_memory", {model_memory_exam, {1, 2, 2, 4, 1, 1}}},
      {"training_time", {training_time_exam, {1, 1, 2, 1, 1}}},
      {"single_device_loop", {single_device_loop_exam, {2, 2, 2, 1, 1, 1}}},
      {"node_layout", {node_layout_exam, {3, 4, 16, 8, 2, 1}}},
      {"store_rendezvous", {store_rendezvous_exam, {14, 12, 16, 12, 12}}},
      {"setup_distributed", {setup_distributed_exam, {8, 3, 7, 1, 7, 4, 4}}},
      {"split_groups", {split_groups_exam, {1, 4, 4, 4, 3, 5, 1}}},
      {"seed_everything", {seed_everything_exam, {1, 1, 2, 2, 1, 1}}},
      {"exchange", {exchange_exam, {53, 2, 19}}},
      {"read_the_hang", {read_the_hang_exam, {3, 3, 3, 4, 2}}},
      {"broadcast", {broadcast_exam, {54, 2, 19}}},
      {"reduce", {reduce_exam, {54, 2, 6, 4, 19}}},
      {"all_gather", {all_gather_exam, {53, 2, 19}}},
      {"reduce_scatter", {reduce_scatter_exam, {53, 2, 6, 4, 19}}},
      {"barrier", {barrier_exam, {30, 18, 3, 6}}},
      {"all_to_all", {all_to_all_exam, {21, 22, 1, 12}}},
      {"scatter", {scatter_exam, {54, 2, 19}}},
      {"gather", {gather_exam, {54, 2, 19}}},
      {"distributed_sampler", {distributed_sampler_exam, {1, 1, 1, 2, 4, 1, 1}}},
      {"prefetching_loader", {prefetching_loader_exam, {73, 20, 12, 6, 15, 8, 16, 18}}},
      {"naive_all_reduce", {naive_all_reduce_exam, {53, 2, 6, 4, 19}}},
      {"ring_all_reduce", {ring_all_reduce_exam, {53, 2, 6, 4, 19}}},
      {"tree_all_reduce", {tree_all_reduce_exam, {53, 2, 6, 4, 19}}},
      {"halving_doubling_all_reduce", {halving_doubling_all_reduce_exam, {53, 2, 6, 4, 19}}},
      {"hierarchical_all_reduce", {hierarchical_all_reduce_exam, {84, 12, 2, 84, 1}}},
      {"choose_all_reduce", {choose_all_reduce_exam, {1, 1, 1, 1}}},
      {"broadcast_parameters", {broadcast_parameters_exam, {7, 3, 3, 1, 3}}},
      {"average_gradients", {average_gradients_exam, {7, 1, 2, 1, 3}}},
      {"data_parallel_step", {data_parallel_step_exam, {5, 2, 4, 1, 1, 2}}},
      {"token_weighted_mean", {token_weighted_mean_exam, {7, 2, 6, 2, 2, 1, 3}}},
      {"training_loop", {training_loop_exam, {3, 4, 2, 4, 3, 2, 1, 1}}},
      {"evaluate_distributed", {evaluate_distributed_exam, {3, 6, 3, 2, 2, 1, 1, 1}}},
      {"scale_learning_rate", {scale_learning_rate_exam, {1, 1, 1, 3, 1, 1}}},
  };
  return all;
}

}  // namespace lockstep::grader
