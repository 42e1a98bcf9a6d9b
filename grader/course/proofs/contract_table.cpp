#include "grader/course/proofs/contract_table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {

ContractTable read_contract_table(const std::filesystem::path& file) {
  const nlohmann::json content = read_toml(file);
  ContractTable table;
  try {
    for (const auto& [name, entries] : content.items()) {
      if (name == "checks") {
        entries.get_to(table.checks);
      } else if (name == "unchecked") {
        entries.get_to(table.unchecked);
      } else {
        throw UsageError(text(file.string(), ": there is no [", name,
                              "]; a sentence is under [checks] or under [unchecked]"));
      }
    }
  } catch (const nlohmann::json::exception&) {
    throw UsageError(text(file.string(),
                          ": [checks] gives each sentence a list of names, and [unchecked] a "
                          "reason"));
  }
  return table;
}

std::vector<std::string> holes_of_table(const ContractTable& table,
                                        const std::vector<ContractSentence>& contract,
                                        const ContractPlaces& places) {
  std::vector<std::string> holes, addresses;
  for (const ContractSentence& sentence : contract) {
    const std::string& address = addresses.emplace_back(sentence.address);
    const bool checked = table.checks.contains(address);
    if (checked != table.unchecked.contains(address)) continue;
    const std::string where =
        text(places.header, ":", sentence.line, ": \"", sentence.words, "\" (", address, ")");
    holes.push_back(
        checked ? text(where, " is under [checks] and under [unchecked] in ", places.table)
                : text(where, " has no check: add to ", places.table, ", under [checks], \"",
                       address, "\" = [\"part of the name of a check that breaks without it\"]; ",
                       "or, under [unchecked], why nothing can check it"));
  }
  const auto look_up = [&](const std::string& address, const std::string& lacks) {
    const std::string where = text(places.table, ": \"", address, "\"");
    if (std::ranges::count(addresses, address) == 0) {
      holes.push_back(text(where, " is no sentence of ", places.header,
                           did_you_mean(address, addresses), "; after a change of the contract, ",
                           "look at the numbers of the others, too"));
    } else if (!lacks.empty()) {
      holes.push_back(where + lacks);
    }
  };
  for (const auto& [address, names] : table.checks) {
    const bool named = !names.empty() && std::ranges::count(names, "") == 0;
    look_up(address, named ? "" : " names no check");
  }
  for (const auto& [address, reason] : table.unchecked) {
    look_up(address, reason.empty() ? " has no reason" : "");
  }
  return holes;
}

}  // namespace lockstep::grader
