// The costs of a ring: who sends what to whom, when, and what a rank holds meanwhile.
#pragma once

#include "grader/exam/ranks/attention_service.hpp"
#include "grader/exam/ranks/member_memory.hpp"
#include "grader/parts/15_sequence_parallel/ring_attention/problem.hpp"

namespace lockstep::grader::ring_attention {

// N-1 messages of one block each, to the right.
void check_messages(CaseRunner& runner, const Played& played, const Problem& p);
// A rank has asked for as much attention as its blocks need. One that has not computes by other
// means, whose time nobody sees.
void check_computing(CaseRunner& runner, const Played& played, const Problem& p,
                     const AttentionService& attention);
// The time in which transfers are hidden by what ranks compute.
void check_time(CaseRunner& runner, const Played& played, const Problem& p);
// Two blocks of keys and values at any time.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const MomentService& moments, const AttentionService& attention);

}  // namespace lockstep::grader::ring_attention
