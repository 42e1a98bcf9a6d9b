// Computes on one device the result of a step on several.
#pragma once

#include <vector>

#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"

namespace lockstep::grader::data_parallel_threads {

inline constexpr std::int64_t width = 6, hidden = 8, classes = 4;
inline constexpr std::int64_t elements = width * hidden + hidden + hidden * classes + classes;

// Draws the samples of a question.
ThreadsQuestion question_of(std::int64_t devices, std::vector<std::int64_t> batches,
                            std::uint64_t salt, DType dtype = DType::float64);

// The judge's numbers for a sample, counted over all steps: what is added to its inputs, and what
// the gradients of its outputs are multiplied by. Multiples of 1/64, which every type holds.
std::vector<double> noise_of(const ThreadsQuestion& question, std::int64_t sample);
std::vector<double> factors_of(const ThreadsQuestion& question, std::int64_t sample);

struct StepOfOne {
  double loss = 0;                // the mean over the batch, before the update
  std::vector<double> gradients;  // flat
};

// Step `step`, where all steps before were right.
StepOfOne step_of_one(const ThreadsQuestion& question, std::size_t step);

}  // namespace lockstep::grader::data_parallel_threads
