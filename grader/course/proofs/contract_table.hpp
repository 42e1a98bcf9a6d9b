// tests/exercises/NN_lesson/part/contract.toml: for each sentence of a part's contract, the checks
// that break when it is ignored, or why nothing can check it.
//
//   [checks]
//   "end_join Returns 1" = ["whoever runs out first"]     # a part of the name of one check
//   [unchecked]
//   "end_join Requires 1" = "it binds the caller"
//
// Names stand for checks, since numbers shift when an exam grows. The proof of the exercise looks
// them up in what it was told (grader/dev/contract_rows.hpp).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "grader/course/proofs/contract_text.hpp"

namespace lockstep::grader {

// Both lists are by the address of a sentence.
struct ContractTable {
  std::map<std::string, std::vector<std::string>> checks;
  std::map<std::string, std::string> unchecked;
};

//   Throws  UsageError when the file is missing or has something else in it
ContractTable read_contract_table(const std::filesystem::path& file);

// A header and its table, as messages name them.
struct ContractPlaces {
  std::string header, table;
};

//   Returns  a sentence for each one of the contract that is in neither list or in both, for each
//            entry that is no sentence, and for each without a check or a reason; what to type
std::vector<std::string> holes_of_table(const ContractTable& table,
                                        const std::vector<ContractSentence>& contract,
                                        const ContractPlaces& places);

}  // namespace lockstep::grader
