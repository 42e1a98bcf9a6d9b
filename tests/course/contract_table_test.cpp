#include "grader/course/proofs/contract_table.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string header =
    "// The file's own words.\n"
    "#pragma once\n"
    "\n"
    "class Reducer {\n"
    " public:\n"
    "  // This pass's gradient is final. Called once a pass; does not wait.\n"
    "  virtual void ready(std::size_t index) = 0;\n"
    "};\n"
    "\n"
    "// The reducer of one rank.\n"
    "// A part: defined in solutions.\n"
    "//   plan        the same on every rank; each parameter once. Long\n"
    "//               lives the plan\n"
    "//   Ensures     grads are [0, 1) of 0 .. p; as the hook makes them. `half`\n"
    "//               comes last\n"
    "//   push, S > 0 is an update of its own\n"
    "//   Source      [DDP20] §3.2; PyTorch\n"
    "std::unique_ptr<Reducer> make_reducer(ProcessGroup& group,\n"
    "                                      const Plan& plan);\n"
    "\n"
    "// For the second one. It ends\n"
    "// an epoch.\n"
    "//   Throws  CommError\n"
    "int end_join(ProcessGroup& group);\n"
    "\n"
    "//   Throws  nobody's contract\n"
    "int other();\n";

const std::vector<std::string> symbols{"lockstep::make_reducer[abi:cxx11](ProcessGroup&)",
                                       "lockstep::end_join(ProcessGroup&)"};

const ContractPlaces places{"ring.hpp", "contract.toml"};

std::vector<std::string> holes(const ContractTable& table) {
  const std::string small = "// Ends.\n//   Throws  CommError; Error\nint ends();\n";
  return holes_of_table(table, sentences_of_contract(small, {"ends()"}), places);
}

}  // namespace

TEST_CASE("a contract: its sentences have addresses, the interface's first") {
  std::string all;
  for (const ContractSentence& sentence : sentences_of_contract(header, symbols)) {
    all += text(sentence.line, " ", sentence.address, ": ", sentence.words, "\n");
  }
  CHECK(all ==
        "6 ready Does 1: Called once a pass\n"
        "6 ready Does 2: does not wait\n"
        "14 make_reducer Ensures 1: grads are [0, 1) of 0 .. p\n"
        "14 make_reducer Ensures 2: as the hook makes them\n"
        "14 make_reducer Ensures 3: `half` comes last\n"
        "16 make_reducer push, S > 0 1: is an update of its own\n"
        "21 end_join Does 1: It ends an epoch\n"
        "23 end_join Throws 1: CommError\n");
}

TEST_CASE("a contract's table: each sentence is under one of two headings") {
  CHECK(holes({{{"ends Throws 1", {"lost"}}}, {{"ends Throws 2", "why"}}}).empty());
  const auto none = holes({});
  REQUIRE(none.size() == 2);
  CHECK_THAT(none[0], test::contains("ring.hpp:2: \"CommError\" (ends Throws 1) has no check"));
  CHECK_THAT(none[0],
             test::contains("add to contract.toml, under [checks], \"ends Throws 1\" = ["));
  const auto both =
      holes({{{"ends Throws 1", {"a"}}, {"ends Throws 2", {"b"}}}, {{"ends Throws 2", "why"}}});
  REQUIRE(both.size() == 1);
  CHECK_THAT(both[0], test::contains("(ends Throws 2) is under [checks] and under [unchecked]"));
}

TEST_CASE("a contract's table: an entry is a sentence, and has a check or a reason") {
  const auto wrong =
      holes({{{"ends Throws 1", {}}, {"ends Throws 3", {"lost"}}}, {{"ends Throws 2", ""}}});
  REQUIRE(wrong.size() == 3);
  CHECK_THAT(wrong[0], test::contains("\"ends Throws 1\" names no check"));
  CHECK_THAT(wrong[1],
             test::contains("\"ends Throws 3\" is no sentence of ring.hpp; did you mean"));
  CHECK_THAT(wrong[2], test::contains("\"ends Throws 2\" has no reason"));
}

TEST_CASE("a contract's table: a file with other tables or values is refused by name") {
  const test::Scratch scratch;
  const auto read = [&](const std::string& content) {
    write_text(scratch.path() / "contract.toml", content);
    return read_contract_table(scratch.path() / "contract.toml");
  };
  CHECK(read("[checks]\n'a' = ['b', 'c']\n[unchecked]\n'd' = 'e'\n").checks.at("a").size() == 2);
  CHECK_THROWS_WITH(read("[check]\n'a' = ['b']\n"), test::contains("there is no [check]"));
  CHECK_THROWS_WITH(read("[checks]\n'a' = 3\n"), test::contains("contract.toml: [checks] gives"));
  CHECK_THROWS_AS(read_contract_table(scratch.path() / "none.toml"), UsageError);
}
