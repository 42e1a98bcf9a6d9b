#include "grader/exams/exams.hpp"

namespace lockstep::grader {

const std::map<std::string, std::function<Exam()>>& exams() {
  static const std::map<std::string, std::function<Exam()>> all{
      {"model_memory", model_memory_exam},
      {"training_time", training_time_exam},
      {"single_device_loop", single_device_loop_exam},
      {"node_layout", node_layout_exam},
      {"store_rendezvous", store_rendezvous_exam},
      {"setup_distributed", setup_distributed_exam},
      {"split_groups", split_groups_exam},
      {"seed_everything", seed_everything_exam},
      {"exchange", exchange_exam},
      {"read_the_hang", read_the_hang_exam},
      {"broadcast", broadcast_exam},
      {"reduce", reduce_exam},
      {"all_gather", all_gather_exam},
      {"reduce_scatter", reduce_scatter_exam},
      {"barrier", barrier_exam},
      {"all_to_all", all_to_all_exam},
      {"scatter", scatter_exam},
      {"gather", gather_exam},
      {"distributed_sampler", distributed_sampler_exam},
      {"prefetching_loader", prefetching_loader_exam},
      {"naive_all_reduce", naive_all_reduce_exam},
      {"ring_all_reduce", ring_all_reduce_exam},
      {"tree_all_reduce", tree_all_reduce_exam},
      {"halving_doubling_all_reduce", halving_doubling_all_reduce_exam},
      {"hierarchical_all_reduce", hierarchical_all_reduce_exam},
      {"choose_all_reduce", choose_all_reduce_exam},
      {"broadcast_parameters", broadcast_parameters_exam},
      {"average_gradients", average_gradients_exam},
      {"data_parallel_step", data_parallel_step_exam},
      {"token_weighted_mean", token_weighted_mean_exam},
      {"training_loop", training_loop_exam},
      {"evaluate_distributed", evaluate_distributed_exam},
      {"scale_learning_rate", scale_learning_rate_exam},
  };
  return all;
}

}  // namespace lockstep::grader
