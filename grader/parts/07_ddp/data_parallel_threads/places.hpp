// The rules for where a step computed, what it copied, and when its passes ran.
#pragma once

#include <optional>

#include "grader/judge/case_runner.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/ledger.hpp"

namespace lockstep::grader::data_parallel_threads {

// Each sample went through its device, whose inputs were copied to it, and no replica but the
// master has gradients left.
std::optional<Failure> wrong_places(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step, const StepSeen& ledger);

// Parameters, inputs and gradients were copied, and nothing else.
std::optional<Failure> wrong_copies(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step, const StepSeen& ledger);

// The passes of all devices ran at the same time.
std::optional<Failure> wrong_times(const ThreadsQuestion& q, std::size_t k, const ThreadsStep& step,
                                   const StepSeen& ledger);

}  // namespace lockstep::grader::data_parallel_threads
