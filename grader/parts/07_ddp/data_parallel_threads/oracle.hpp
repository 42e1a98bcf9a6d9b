// Computes on one device the result of a step on several, and the results of the usual mistakes in
// combining the devices.
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

enum class Variant : std::uint8_t {
  right,
  averaged,        // divided by the devices that have samples
  means_summed,    // each chunk's mean counts as 1
  means_averaged,  // as 1 by the devices that have samples
  first_only,      // device 0's chunk alone
  not_the_first,   // all the others' chunks
  stale,           // other replicas are those of the first step
  own_numbers,     // other replicas were never copied
};

struct StepOfOne {
  double loss = 0;                // the mean over the batch, before the update
  std::vector<double> gradients;  // flat
};

// Step `step`, where all steps before were right.
StepOfOne step_of_one(const ThreadsQuestion& question, std::size_t step, Variant variant);

}  // namespace lockstep::grader::data_parallel_threads
