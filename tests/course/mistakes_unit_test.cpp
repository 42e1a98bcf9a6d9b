#include "grader/course/mistakes_unit.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string one_function =
    "#include \"p.hpp\"\n\nnamespace a::b {\nint f() { return 1; }\n}\n";

Mutant mutant(const std::string& name, const std::string& find, const std::string& put) {
  return {name, "wrong answer", "", "a \"likely\" cause", {{find, "", put, "mutants.toml:7"}}};
}

std::string unit(const std::vector<Mutant>& mutants) {
  return mistakes_unit(one_function, mutants, "a::b::f", "judge::f");
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

#line 1 "the list of mistakes"
#include "grader/exam/known_mistakes.hpp"

namespace judge::f {

std::vector<KnownMistake<decltype(a::b::f)>> known_mistakes() {
  return {
      {{"two", "a \"likely\" cause"}, a::b::mistake_two::f},
      {{"three", "a \"likely\" cause"}, a::b::mistake_three::f},};
}

}  // namespace judge::f
)");
}

TEST_CASE("mistakes: a header that one mutant includes besides is included once, before all") {
  const Mutant more = mutant("more", "#include \"p.hpp\"", "#include \"p.hpp\"\n#include <map>");
  CHECK(unit({mutant("two", "1", "2"), more, more})
            .starts_with("#include \"p.hpp\"\n#include <map>\n#line 1 \"mutant two\"\n"));
}

TEST_CASE("mistakes: those without a sentence or with another verdict are left out") {
  Mutant silent = mutant("silent", "1", "2"), slow = mutant("slow", "1", "3");
  silent.likely = "";
  slow.verdict = "time";
  CHECK(unit({silent, slow, mutant("two", "1", "2")}) == unit({mutant("two", "1", "2")}));
  CHECK_THROWS_WITH(unit({silent, slow}), "a::b::f: no mutant that is a wrong answer has 'likely'");
}

TEST_CASE("mistakes: one that cannot share a unit is told with its line") {
  CHECK_THROWS_WITH(unit({mutant("macro", "int", "#define A\nint")}),
                    test::contains("mutants.toml:7: the mutant 'macro' cannot be compiled"));
}
