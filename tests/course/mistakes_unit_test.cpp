#include "grader/course/proofs/mistakes_unit.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string one_function =
    "#include \"p.hpp\"\n\nnamespace a::b {\nint f() { return 1; }\n}\n";

Mutant mutant(const std::string& name, const std::string& find, const std::string& put) {
  return {name,      "wrong answer",
          "",        "a \"likely\" cause",
          "a check", {{find, "", put, "mutants.toml:7"}}};
}

std::string unit(const std::vector<Mutant>& mutants) {
  return mistakes_unit(one_function, mutants).source;
}

}  // namespace

TEST_CASE("mistakes: a unit holds each in a namespace of its own, and lists them") {
  CHECK(unit({mutant("two", "1", "2"), mutant("three", "1", "3")}) ==
        R"(#include "p.hpp"
#line 1 "mutant two"


namespace a::b { namespace mistake_two {
int f() { return 2; }
} }

#line 1 "mutant three"


namespace a::b { namespace mistake_three {
int f() { return 3; }
} }

)");
}

TEST_CASE("mistakes: a header that one mutant includes besides is included once, before all") {
  const Mutant more = mutant("more", "#include \"p.hpp\"", "#include \"p.hpp\"\n#include <map>");
  CHECK(unit({mutant("two", "1", "2"), more, more})
            .starts_with("#include \"p.hpp\"\n#include <map>\n#line 1 \"mutant two\"\n"));
}

TEST_CASE("mistakes: the list has the name, the first check and the sentence of each") {
  CHECK(mistakes_unit(one_function, {mutant("two", "1", "2"), mutant("three", "1", "3")}).list ==
        "two\ta check\ta \"likely\" cause\nthree\ta check\ta \"likely\" cause\n");
}

TEST_CASE("mistakes: the table jumps to each mutant's function, in the order of the list") {
  const std::vector<Symbol> symbols{{'T', "_f3", "a::b::mistake_three::f()"},
                                    {'T', "_f2", "a::b::mistake_two::f()"},
                                    {'t', "_g2", "a::b::mistake_two::g()"}};
  const std::string table =
      mistakes_table({{"a::b::f()", "_f"}}, symbols, "two\tx\tx\nthree\tx\tx\n");
  CHECK_THAT(table, test::contains("mistakes_of__f:\\n.quad 0\\n.quad _f2\\n.quad _f3\\n") &&
                        test::contains("JUMP(\"_f\", \"mistakes_of__f\")"));
  CHECK_THROWS_WITH(mistakes_table({{"a::b::g()", "_g"}}, symbols, "two\tx\tx\n"),
                    test::contains("the mutant 'two' does not define a::b::g()"));
}

TEST_CASE("mistakes: those without a sentence or a first check are left out") {
  Mutant silent = mutant("silent", "1", "2"), unplaced = mutant("unplaced", "1", "3");
  silent.likely = "";
  unplaced.first = "";
  CHECK(unit({silent, unplaced, mutant("two", "1", "2")}) == unit({mutant("two", "1", "2")}));
  CHECK_THROWS_WITH(unit({silent, unplaced}), "no mutant has both 'likely' and 'first'");
}

TEST_CASE("mistakes: one that cannot share a unit is told with its line") {
  CHECK_THROWS_WITH(unit({mutant("macro", "int", "#define A\nint")}),
                    test::contains("mutants.toml:7: the mutant 'macro' cannot be compiled"));
}
