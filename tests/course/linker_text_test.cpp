#include "grader/course/compile/compiler_text.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("compiler text: long output is cut and says so") {
  std::string output;
  for (int i = 0; i < 100; ++i) output += "line\n";
  CHECK_THAT(shortened(output), test::contains("and 40 more lines"));
  CHECK(shortened("one\n") == "one\n");
}

TEST_CASE("compiler text: a symbol counts when it is defined for other files") {
  const std::string nm =
      "0000000000000000 T lockstep::f(int)\n"
      "0000000000000010 W lockstep::g(int)\n"
      "0000000000000020 t lockstep::(anonymous namespace)::h(int)\n"
      "0000000000000030 T f(lockstep::Tensor)\n";
  CHECK(defines(nm, "lockstep::f(int)"));
  CHECK(defines(nm, "lockstep::g(int)"));
  CHECK_FALSE(defines(nm, "lockstep::h(int)"));
  CHECK_THAT(near_miss(nm, "lockstep::h(int)"), test::contains("other files cannot see"));
  CHECK_THAT(near_miss(nm, "lockstep::f(long)"), test::contains("it defines lockstep::f(int)"));
  CHECK(near_miss(nm, "lockstep::k(int)").empty());
  CHECK_THAT(near_miss("0 T lockstep::t[abi:cxx11](int)\n", "lockstep::t(long)"),
             test::contains("it defines lockstep::t(int) instead"));
}

TEST_CASE("link_error: names what is defined twice or nowhere, as mold and GNU ld say it") {
  CHECK_THAT(link_error("mold: error: duplicate symbol: /b/player_main.cpp.o: /b/1f-2.o: main\n"),
             test::contains("it defines main()"));
  CHECK_THAT(link_error("mold: error: duplicate symbol: /b/a.cpp.o: /b/1f-2.o: lockstep::f(int)\n"),
             test::contains("it defines lockstep::f(int), which the lab already defines"));
  CHECK_THAT(link_error("ld: a.o: in function `f':\nx: multiple definition of `g(int)'; y\n"),
             test::contains("it defines g(int), which"));
  CHECK_THAT(link_error("mold: error: undefined symbol: helper(int)\n>>> referenced by x\n"),
             test::contains("it uses helper(int), which is not defined"));
  CHECK_THAT(link_error("ld: x.cpp:(.text+0x1): undefined reference to `helper(int)'\n"),
             test::contains("it uses helper(int), which is not defined"));
  CHECK_THAT(link_error("killed\n"), test::contains("below"));
}

TEST_CASE(
    "linker text: a missing symbol is named with its file, its header, and what is there instead") {
  const std::vector<std::string> symbols{"lockstep::f(int)", "lockstep::g()"};
  const auto said = [&](const std::string& nm_output) {
    return missing_symbol(nm_output, symbols, "work/f.cpp", "engine/f.hpp").value_or("");
  };
  CHECK(said("0 T lockstep::f(int)\n0 T lockstep::g()\n") == "");
  CHECK(said("0 T lockstep::f(int)\n") ==
        "work/f.cpp does not define lockstep::g(): the declaration is in engine/f.hpp");
  CHECK(said("0 T lockstep::f(long)\n0 T lockstep::g()\n") ==
        "work/f.cpp does not define lockstep::f(int) (it defines lockstep::f(long) instead): the "
        "declaration is in engine/f.hpp");
}
