// Which checks break when a sentence of an exercise's contract is ignored, by its own table
// (course/contract_table.hpp).
#pragma once

#include <string>
#include <vector>

#include "grader/dev/kill_matrix.hpp"
#include "grader/judge/judge.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// What is wrong between the contract and the table, without an exam.
std::vector<std::string> holes_of_contract(const Lab& lab, const Exercise& exercise);

struct ContractRows {
  std::vector<SentenceRow> rows;   // of the sentences that are in the table
  std::vector<std::string> holes;  // names that are not part of exactly one check's, or of one that
                                   // played nothing
};
//   report  of the reference, all checks of which were run
ContractRows contract_rows(const Lab& lab, const Exercise& exercise, const Report& report);

}  // namespace lockstep::grader
