// The sentences of an exercise's contract and its table (course/proofs/contract_table.hpp) beside
// what its exam has told: which checks break when a sentence is ignored.
#pragma once

#include <string>
#include <vector>

#include "grader/dev/kill_matrix.hpp"
#include "grader/judge/judge.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// The holes of the table (holes_of_table), which need no exam.
std::vector<std::string> holes_of_contract(const Lab& lab, const Exercise& exercise);

struct ContractRows {
  std::vector<SentenceRow> rows;   // of the sentences that are in the table
  std::vector<std::string> holes;  // names that are not part of exactly one check's, or of one that
                                   // played nothing
};
//   report  of the reference, all checks of which were run
ContractRows contract_rows(const Lab& lab, const Exercise& exercise, const Report& report);

}  // namespace lockstep::grader
