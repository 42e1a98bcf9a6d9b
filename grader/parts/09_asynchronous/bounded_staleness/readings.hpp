// The usual ways to misread the contract of may_start, and the answers that each one gives.
#pragma once

#include <optional>
#include <span>

#include "grader/judge/causes.hpp"
#include "grader/parts/09_asynchronous/bounded_staleness/case.hpp"

namespace lockstep::grader::bounded_staleness {

// One call of the part, and what it answered.
struct Call {
  WorkerClocks at;
  std::size_t worker = 0;
  bool starts = false;
};

// The right answer.
bool should_start(const WorkerClocks& at, std::size_t worker);

// The slowest of the active workers, and how many steps `worker` is ahead of it.
std::size_t slowest_of(const WorkerClocks& at);
std::int64_t lead_of(const WorkerClocks& at, std::size_t worker);

// The misreading that gives all of these answers, of which one or more are wrong.
std::optional<Cause> misreading_of(std::span<const Call> calls);

}  // namespace lockstep::grader::bounded_staleness
