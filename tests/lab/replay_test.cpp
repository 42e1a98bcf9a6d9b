// The same seed gives the same report, and the line that a report hands back gives the same
// failure.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "grader/course/proofs/mutants.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// A mutant in the place of the student's file; the command line that judges it.
struct Submitted {
  std::string part, name;

  void put_into(const test::Tree& tree) const {
    const std::filesystem::path root = LOCKSTEP_ROOT;
    const MutantList list = read_mutants(root / "tests/exercises" / part / "mutants.toml");
    const auto mutant = std::ranges::find(list.mutants, name, &Mutant::name);
    REQUIRE(mutant != list.mutants.end());
    write_text(tree.root() / "work" / (part + ".cpp"),
               mutated(read_text(root / "solutions" / (part + ".cpp")), *mutant));
  }
};

const std::vector<Submitted>& submitted() {
  static const std::vector<Submitted> all{
      {"01_why_distribute/single_device_loop", "never_zeroes"},
      {"02_processes_and_ranks/store_rendezvous", "names_nobody"},
      {"03_collectives/broadcast", "root_0_hard_wired"},
      {"03_collectives/all_to_all", "transposed_slots"},
      {"04_feeding_the_ranks/distributed_sampler", "contiguous_blocks"},
      {"05_data_parallel/average_gradients", "sums"},
      {"06_all_reduce/ring_all_reduce", "always_sums"},
      {"06_all_reduce/ring_all_reduce", "blocking_send_first"},
      {"06_all_reduce/hierarchical_all_reduce", "shard_not_divisible_by_the_nodes"},
      {"06_all_reduce/tree_all_reduce", "star"}};
  return all;
}

// "./lab check NAME …" → its words after ./lab.
std::vector<std::string> words_of_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  REQUIRE(words.size() > 2);
  words.erase(words.begin());
  return words;
}

}  // namespace

TEST_CASE("lab check: the same seed gives the same bytes, and a replay the same failure") {
  for (const Submitted& mutant : submitted()) {
    INFO(mutant.part << " " << mutant.name);
    const test::Tree tree;
    mutant.put_into(tree);
    const auto seen = tree.lab({"check", mutant.part, "--seed", "7"});
    CHECK(seen.exit_code == 1);
    CHECK_THAT(seen.output, test::contains("seed 7"));
    CHECK(tree.lab({"check", mutant.part, "--seed", "7"}).output == seen.output);

    const auto report =
        nlohmann::json::parse(tree.lab({"check", mutant.part, "--seed", "7", "--json"}).output);
    CHECK(report.at("seed") == 7);
    for (const auto& check : report.at("checks")) {
      const std::string line = check.at("replay");
      if (line.empty()) continue;
      INFO(line);
      auto words = words_of_line(line);
      words.emplace_back("--json");
      const auto again = nlohmann::json::parse(tree.lab(words).output);
      CHECK(again.at("verdict") == check.at("verdict"));
      CHECK(again.at("cause") == check.at("cause"));
      CHECK(again.at("message") == check.at("message"));
    }
  }
}
