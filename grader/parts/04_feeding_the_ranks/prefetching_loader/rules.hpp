// The rules for the log of a loader's run. Each rule throws a Failure through the runner, with the
// sentence a student reads.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/services.hpp"

namespace lockstep::grader::prefetching_loader {

// A run: the case, what the samples hold, and what happened.
struct LoaderRun {
  const LoaderCase& c;
  const Samples& samples;
  const LoaderLog& log;
};

// The trainer got each batch of each epoch in the sampler's order, with its samples; where one
// cannot be read, the dataset's exception; and then the end.
void check_outcomes(CaseRunner& runner, const Played& played, const LoaderRun& run);

// Nothing was read but batches of the epoch at hand, each once; never more than `workers` at a
// time, and none that is not among the next `prefetch`.
void check_reads(CaseRunner& runner, const Played& played, const LoaderRun& run);

// At every moment at which the trainer was busy, the next `prefetch` batches had been begun, as far
// as there were workers for them.
void check_ahead(CaseRunner& runner, const Played& played, const LoaderRun& run);

// next() returned as soon as its own batch was there, and start() waited for nothing but reads of
// an epoch before; the sampler was asked on the strand that made the loader, and batches were read
// on others.
void check_prompt(CaseRunner& runner, const Played& played, const LoaderRun& run);

// The player held no more tensors than the trainer's batch and `prefetch` others.
void check_memory(CaseRunner& runner, const Played& played, const LoaderRun& run);

// The destructor returned when the last read that had begun was over, not later and not before.
void check_end(CaseRunner& runner, const Played& played, const LoaderRun& run);

}  // namespace lockstep::grader::prefetching_loader
