// What a hand-in says to the assembler, found in the preprocessor's output.
#include "grader/course/machine_code.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string part_file = "work/05_x/part.cpp";

// As g++ -E begins, with a header that speaks to the assembler itself.
std::string as_preprocessed(const std::string& own) {
  return "# 0 \"" + part_file + "\"\n# 0 \"<built-in>\"\n# 0 \"<command-line>\"\n" +
         "# 1 \"/usr/include/x.h\" 1 3 4\nint f() __asm__ (\"g\");\n# 0 \"<command-line>\" 2\n# 1 "
         "\"" +
         part_file + "\"\n" + own;
}

std::string sentence_on(const std::string& own) {
  return machine_code_in(as_preprocessed(own), part_file).value_or("nothing");
}

}  // namespace

TEST_CASE("machine code: each spelling of asm is found, with its line") {
  CHECK_THAT(sentence_on("int a;\nasm(\"nop\");\n"),
             test::contains(part_file + ":2: asm is refused"));
  CHECK_THAT(sentence_on("__asm (\"nop\");\n"), test::contains(part_file + ":1: __asm is refused"));
  CHECK_THAT(sentence_on("# 40 \"" + part_file + "\"\nvoid f() { __asm__ volatile (\"\"); }\n"),
             test::contains(part_file + ":40: __asm__ is refused"));
  CHECK_THAT(sentence_on("int a = 1'000; asm(\"\");"), test::contains("asm is refused"));
  CHECK_THAT(sentence_on("auto s = R\"x(\n# 1 \"/usr/include/x.h\" 1\n)x\"; asm(\"\");"),
             test::contains(part_file + ":3: asm is refused"));
  // Through another path to the same file, and from a macro of a header.
  CHECK_THAT(sentence_on("# 1 \"./part.cpp\" 1\nasm(\"\");\n"), test::contains("asm is refused"));
  CHECK_THAT(sentence_on("# 3 \"" + part_file + "\" 3 4\n__asm__(\"\");\n"),
             test::contains("is refused"));
}

TEST_CASE("machine code: attributes whose texts the assembler reads are found") {
  for (const std::string name : {"section", "__section__", "alias", "weakref", "ifunc", "symver"}) {
    INFO(name);
    CHECK_THAT(sentence_on("[[gnu::" + name + "(\"x\")]] int a;\n"),
               test::contains("the attribute "));
    CHECK_THAT(sentence_on("int a __attribute__ ((unused, " + name + "(\"x\")));\n"),
               test::contains("the attribute "));
  }
  CHECK_THAT(sentence_on("<:<: gnu::section(\"x\") :>:> int a;\n"),
             test::contains("the attribute "));
  CHECK_THAT(sentence_on("int section(int alias) { return v[a[alias]] + section(1); }\n"),
             test::contains("nothing"));
}

TEST_CASE("machine code: what headers, texts and names hold is none") {
  CHECK(sentence_on("const char* a = \"asm(\\\"\\\")\"; char b = '\"'; int asmuch, my_asm;\n") ==
        "nothing");
  CHECK(sentence_on("auto s = R\"(asm(\"\"))\"; int c = 1'0;\n") == "nothing");
  CHECK(sentence_on("# 1 \"/lab/engine/x.hpp\" 1\nasm(\"\");\n# 2 \"" + part_file +
                    "\" 2\nint a;\n") == "nothing");
  CHECK(sentence_on("[[nodiscard]] int f(); [[maybe_unused]] int g;\n") == "nothing");
}

TEST_CASE("machine code: line directives are found however they are spelled") {
  for (const std::string source :
       {"# 1 \"x.h\" 1 3\n", "  #line 7\n", "/* a */ # /* b */ line 7\n", "%:line 7 \"x\"\n",
        "#\\\n line 7\n", "# \\\n 7 NAME\n", "/*\n*/ #7 \"x\"\n"}) {
    INFO(source);
    const auto without = without_line_directives(source);
    REQUIRE(without);
    CHECK(without->find('#') == std::string::npos);
    CHECK(without->find("%:") == std::string::npos);
  }
  for (const std::string source :
       {"#include <x>\n#define A #a\n", "int a; // # 1 \"x\"\n", "#lines\n", "#if 1\n#endif\n"}) {
    INFO(source);
    CHECK_FALSE(without_line_directives(source));
  }
  CHECK(foreign_markers("# 1 \"a/part.cpp\"\n# 1 \"x.h\" 1\n# 2 \"a/part.cpp\" 2\n",
                        "a/part.cpp") == "1 x.h\n");
}

TEST_CASE("machine code: an ordinary source is not even preprocessed for a student's own check") {
  CHECK_FALSE(may_hold_machine_code("#include <vector>\nint f() { return 1; }\n"));
  CHECK(may_hold_machine_code("a\\\nsm(\"\")"));
  CHECK(may_hold_machine_code("#define P(a, b) a ## b\n"));
}

TEST_CASE("machine code: a pragma that changes the compiler's mind is seen") {
  CHECK(changes_its_compiler("#pragma GCC optimize(\"O0\")\n"));
  CHECK_FALSE(changes_its_compiler("#pragma GCC diagnostic push\n#pragma once\n"));
}
