#include "grader/course/proofs/mutants.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

MutantList listed(const std::string& toml) {
  const test::Scratch scratch;
  write_text(scratch.path() / "mutants.toml", toml);
  return read_mutants(scratch.path() / "mutants.toml");
}

// One mutant, well told, with these edits.
Mutant mutant(const std::string& edits) {
  const MutantList list = listed("[[mutant]]\nname = 'm'\nverdict = 'crash'\nsays = 'x'\n" + edits);
  INFO((list.problems.empty() ? "" : list.problems.front()));
  REQUIRE(list.mutants.size() == 1);
  return list.mutants.front();
}

const std::string head = "[[mutant]]\nname = 'm'\nverdict = 'crash'\nsays = 'x'\n";
const std::string change = "find = 'a'\nput = 'b'\n";

}  // namespace

TEST_CASE("a mutant: has its name, its reason, and its verdict if that is not the usual one") {
  const MutantList list = listed(head + change);
  REQUIRE(list.mutants.size() == 1);
  CHECK(list.problems.empty());
  CHECK(list.mutants[0].name == "m");
  CHECK(list.mutants[0].verdict == "crash");
  CHECK(listed("[[mutant]]\nname = 'm'\nsays = 'x'\nfind = 'a'\nput = 'b'\n").mutants[0].verdict ==
        "wrong answer");
  CHECK(list.mutants[0].says == "x");
}

TEST_CASE("a mutant: its likely cause may stand for the words of its reason") {
  const std::string named = "[[mutant]]\nname = 'm'\n";
  const MutantList list = listed(named + "likely = 'x is y'\n" + change);
  REQUIRE(list.mutants.size() == 1);
  CHECK(list.mutants[0].likely == "x is y");
  CHECK(list.mutants[0].says.empty());
  CHECK(listed(named + "says = 'x'\nlikely = 'x is y'\n" + change).mutants[0].says == "x");
}

TEST_CASE("a mutant: exchanges, adds and removes text") {
  const std::string reference = "one\ntwo\nthree\n";
  CHECK(mutated(reference, mutant("find = 'wo'\nput = 'en'\n")) == "one\nten\nthree\n");
  CHECK(mutated(reference, mutant("find = '''\ntwo\n'''\nput = '''\ntwo\nand\n'''\n")) ==
        "one\ntwo\nand\nthree\n");
  CHECK(mutated(reference, mutant("find = '''\ntwo\n'''\nput = ''\n")) == "one\nthree\n");
}

TEST_CASE("a mutant: 'through' takes everything as far as the next such text") {
  const std::string reference = "{ a; b; } c { d; }";
  CHECK(mutated(reference, mutant("find = '{ a'\nthrough = '}'\nput = 'x'\n")) == "x c { d; }");
  CHECK_THROWS_WITH(mutated("{ a", mutant("find = '{ a'\nthrough = '}'\nput = 'x'\n")),
                    test::contains("mutants.toml:5: ") && test::contains("'through'"));
}

TEST_CASE("a mutant: its edits are looked up in the reference, in any order") {
  const Mutant both =
      mutant("[[mutant.edit]]\nfind = 'c'\nput = 'a'\n[[mutant.edit]]\nfind = 'a'\nput = 'c'\n");
  CHECK(mutated("a b c", both) == "c b a");
  const Mutant overlapping = mutant(
      "[[mutant.edit]]\nfind = 'a b'\nput = 'x'\n[[mutant.edit]]\nfind = 'b c'\nput = 'y'\n");
  CHECK_THROWS_WITH(mutated("a b c", overlapping),
                    test::contains("mutants.toml:9: ") && test::contains("overlaps"));
}

TEST_CASE("a mutant: a text to find that is absent, or there twice, is told with its line") {
  const Mutant two = mutant("put = 'y'\nfind = 'x'\n");
  CHECK_THROWS_WITH(mutated("a", two),
                    test::contains("mutants.toml:6: ") && test::contains("does not contain this"));
  CHECK_THROWS_WITH(mutated("x x", two),
                    test::contains("mutants.toml:6: ") && test::contains("more than once"));
  CHECK_THROWS_WITH(mutated("ab", mutant("find = 'a'\nthrough = 'b'\nput = 'ab'\n")),
                    test::contains("mutants.toml:5: ") && test::contains("equals the reference"));
}

TEST_CASE("mutants: one that is not well written is told with its line, the others are read") {
  struct Wrong {
    std::string toml, line, words;
  };
  const std::vector<Wrong> all{
      {head + change + "finds = 'a'\n", ":7: ", "no key 'finds'"},
      {"[[mutant]]\nname = 'm'\nverdict = 'wrong answer'\nsays = 'x'\n" + change,
       ":3: ", "'wrong answer' is understood: leave this line out"},
      {"[[mutant]]\nname = 'm'\nverdict = 'crash'\n" + change, ":1: ", "no 'says'"},
      {"[[mutant]]\nverdict = 'crash'\nsays = 'x'\n" + change, ":1: ", "no 'name'"},
      {"[[mutant]]\nname = 'm'\nverdict = ''\nsays = 'x'\n" + change, ":3: ", "'verdict' is empty"},
      {"[[mutant]]\nname = 'a/b'\nverdict = 'x'\nsays = 'x'\n" + change,
       ":2: ", "consists of a to z"},
      {head + "likely = ''\n" + change, ":5: ", "'likely' is empty"},
      {head + "put = 'b'\n", ":1: ", "no 'find'"},
      {head + "find = 'a'\n", ":1: ", "no 'put'"},
      {head + "find = ''\nput = 'b'\n", ":5: ", "'find' is empty"},
      {head + "find = 'a'\nput = 1\n", ":6: ", "'put' must be a string"},
      {head + "find = 'a'\nput = 'a'\n", ":6: ", "same text"},
      {head + change + "[[mutant.edit]]\nfind = 'c'\nput = 'd'\n", ":5: ", "no key 'find'"},
      {head + "edit = []\n", ":5: ", "tables"},
      {head + "[[mutant.edit]]\nfind = 'c'\nput = 'd'\nto = 'e'\n", ":8: ", "no key 'to'"},
      {head + change + head + change, ":8: ", "two mutants 'm'"}};
  for (const Wrong& wrong : all) {
    INFO(wrong.toml);
    const MutantList list = listed(wrong.toml + "[[mutant]]\nname = 'good'\nverdict = 'crash'\n" +
                                   "says = 'x'\n" + change);
    REQUIRE(list.problems.size() == 1);
    CHECK(list.problems[0].find("mutants.toml" + wrong.line) != std::string::npos);
    CHECK(list.problems[0].find(wrong.words) != std::string::npos);
    CHECK(list.mutants.back().name == "good");
  }
  CHECK(listed("mutants = 1\n" + head + change).problems.size() == 1);
  CHECK_THROWS_WITH(listed("[[mutant]]\nname = 'm\n"), test::contains("mutants.toml:2: "));
}
