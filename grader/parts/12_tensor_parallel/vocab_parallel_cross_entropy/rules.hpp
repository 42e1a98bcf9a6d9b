// The rules for the reports of a case, and for its cost.
#pragma once

#include <vector>

#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/member_memory.hpp"
#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/oracle.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {

using Reports = std::vector<VocabReport>;  // of one rank, by call

// Losses and gradients of all ranks; or how they refused.
void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks, const MomentService& moments);
// The memory that is held between forward and backward.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const MomentService& moments);
// The bytes and collectives of a case.
void check_bytes(CaseRunner& runner, const Played& played, const Problem& p);

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
