// The exams there are: one file each, the judge's side of one exercise's checks.
#pragma once

#include "grader/judge/bench.hpp"

namespace lockstep::grader {

Exam model_memory_exam();
Exam training_time_exam();
Exam single_device_loop_exam();
Exam node_layout_exam();
Exam store_rendezvous_exam();
Exam setup_distributed_exam();
Exam split_groups_exam();
Exam seed_everything_exam();
Exam exchange_exam();
Exam read_the_hang_exam();
Exam broadcast_exam();
Exam reduce_exam();
Exam all_gather_exam();
Exam reduce_scatter_exam();
Exam barrier_exam();
Exam all_to_all_exam();
Exam scatter_exam();
Exam gather_exam();
Exam distributed_sampler_exam();
Exam prefetching_loader_exam();
Exam naive_all_reduce_exam();
Exam ring_all_reduce_exam();
Exam tree_all_reduce_exam();
Exam halving_doubling_all_reduce_exam();
Exam hierarchical_all_reduce_exam();
Exam choose_all_reduce_exam();
Exam broadcast_parameters_exam();
Exam average_gradients_exam();
Exam data_parallel_step_exam();
Exam token_weighted_mean_exam();
Exam training_loop_exam();
Exam evaluate_distributed_exam();
Exam scale_learning_rate_exam();

}  // namespace lockstep::grader
