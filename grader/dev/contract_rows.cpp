#include "grader/dev/contract_rows.hpp"

#include "engine/base/text.hpp"
#include "grader/course/proofs/contract_table.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

std::filesystem::path table_of(const Lab& lab, const Exercise& exercise) {
  return lab.places.root / "tests" / "exercises" / exercise.address() / "contract.toml";
}

std::vector<ContractSentence> contract_of(const Lab& lab, const Exercise& exercise) {
  return sentences_of_contract(read_text(lab.places.root / exercise.header), exercise.symbols);
}

}  // namespace

std::vector<std::string> holes_of_contract(const Lab& lab, const Exercise& exercise) {
  const auto file = table_of(lab, exercise);
  return holes_of_table(read_contract_table(file), contract_of(lab, exercise),
                        {exercise.header, lab.places.shown(file)});
}

ContractRows contract_rows(const Lab& lab, const Exercise& exercise, const Report& report) {
  const auto file = table_of(lab, exercise);
  const ContractTable table = read_contract_table(file);
  ContractRows found;
  for (const ContractSentence& sentence : contract_of(lab, exercise)) {
    SentenceRow row{sentence.address, sentence.words, {}, {}};
    if (const auto why = table.unchecked.find(sentence.address); why != table.unchecked.end()) {
      row.unchecked = why->second;
    }
    const auto named = table.checks.find(sentence.address);
    for (const auto& part :
         named == table.checks.end() ? std::vector<std::string>{} : named->second) {
      std::vector<int> checks;
      for (std::size_t c = 0; c < report.checks.size(); ++c) {
        const CheckReport& check = report.checks[c];
        const bool played = !check.skipped && check.cases > 0;
        if (played && check.name.find(part) != std::string::npos) {
          checks.push_back(static_cast<int>(c + 1));
        }
      }
      if (checks.size() == 1) {
        row.checks.push_back(checks.front());
      } else {
        found.holes.push_back(text(lab.places.shown(file), ": for \"", sentence.address, "\", \"",
                                   part, "\" is part of the names of ", checks.size(),
                                   " checks that play a case; it must be of one"));
      }
    }
    if (!row.checks.empty() || !row.unchecked.empty()) found.rows.push_back(std::move(row));
  }
  return found;
}

}  // namespace lockstep::grader
