// What a hand-in says to the assembler, found by a real compiler's preprocessor, and what is none.
#include "grader/course/compile/machine_code.hpp"

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string part_file = "work/05_x/part.cpp";
const std::string drawn_mark = "mark_1_2";

// As g++ -E begins, with a header that renames a function.
std::string as_preprocessed(const std::string& own) {
  return "# 0 \"" + part_file + "\"\n# 0 \"<built-in>\"\n# 0 \"<command-line>\"\n" +
         "# 1 \"/usr/include/x.h\" 1 3 4\nint f() __asm__ (\"\" \"__g\");\n" +
         "# 0 \"<command-line>\" 2\n# 1 \"" + part_file + "\"\n" + own;
}

std::string found_in(const std::string& own) {
  const test::Scratch scratch;
  const std::string text = as_preprocessed(own);
  const MarkedText marked = marked_text(text, drawn_mark);
  write_text(scratch.path() / "marked.cpp", marked.text);
  std::vector<std::string> argv{LOCKSTEP_CXX, "-std=c++20", "-undef", "-w",   "-P",
                                "-E",         "marked.cpp", "-o",     "marks"};
  argv.insert(argv.end(), marked.words.begin(), marked.words.end());
  const auto result = run_command(argv, scratch.path(), test::patient);
  if (result.exit_code != 0) return "the preprocessor fails: " + result.output;
  const std::string marks = read_text(scratch.path() / "marks");
  return machine_code_in(text, marks, drawn_mark, part_file).value_or("nothing");
}

}  // namespace

TEST_CASE("machine code: each spelling of asm is found, with its line") {
  CHECK_THAT(found_in("int a;\nasm(\"nop\");\n"), test::contains(part_file + ":2: asm is refused"));
  CHECK_THAT(found_in("__asm (\"nop\");\n"), test::contains(part_file + ":1: __asm is refused"));
  CHECK_THAT(found_in("# 40 \"" + part_file + "\"\nvoid f() { __asm__ volatile (\"\"); }\n"),
             test::contains(part_file + ":40: __asm__ is refused"));
  CHECK_THAT(found_in("int a = 1'000; asm(\"\");"), test::contains("asm is refused"));
  CHECK_THAT(found_in("[[x::y(0x1e+R\"(\")]] int a;\nasm(\"\"); auto s = \")\";\n"),
             test::contains("asm is refused"));
}

TEST_CASE("machine code: asm in a header is found if its text could hide in the assembly") {
  const std::string header = "# 3 \"/usr/include/y.h\" 1 3\n";
  for (const std::string harmless :
       {"__asm__(\"nop\");", "int h() __asm__(\"\" \"__isoc99_scanf\");",
        "void f() { asm volatile(\"cpuid\\n\\t\"); }",
        "void f(int x) { asm(\"a b\" : : \"r\"(x)); }"}) {
    INFO(harmless);
    CHECK(found_in(header + harmless + "\n") == "nothing");
  }
  for (const std::string refused :
       {"int h() __asm__(\"\" \"g\\n\\t.byte 144\");", "int h() __asm__(\"g;nop\");",
        "int h() __asm__((\"g\"));", "int h() asm\n# 3 \"/usr/include/y.h\" 1 3\n(\"g;nop\");",
        "int h() asm\n#pragma foo\n(\"g\");", "int h() asm section (\"g\");",
        "int h() __asm__(R\"(g)\");", "int h() asm(\"\\\"\");"}) {
    INFO(refused);
    CHECK_THAT(
        found_in(header + refused + "\n"),
        test::contains(part_file + ": at /usr/include/y.h:3, ") && test::contains("is refused"));
  }
}

TEST_CASE("machine code: attributes whose texts the assembler reads are found") {
  for (const std::string name : {"section", "__section__", "alias", "weakref", "ifunc", "symver",
                                 "fentry_name", "__fentry_section__"}) {
    INFO(name);
    CHECK_THAT(found_in("[[gnu::" + name + "(\"x\")]] int a;\n"), test::contains("the attribute "));
    CHECK_THAT(found_in("int a __attribute__ ((unused, " + name + "\n(\"x\")));\n"),
               test::contains("the attribute "));
  }
  CHECK_THAT(found_in("[[gnu::aligned(x[y[0]]), gnu::section(1 ? \"a\" : \"b\")]] int a;\n"),
             test::contains(part_file + ":1: the attribute section is refused"));
  CHECK_THAT(found_in("<:<: using gnu : section(\"x\") :>:> int a;\n"),
             test::contains("the attribute "));
  // The compiler looks past a directive for the bracket.
  for (const std::string between : {"#pragma foo", "# 7 \"y.h\"", "#pragma GCC unroll 2"}) {
    INFO(between);
    CHECK_THAT(found_in("[[gnu::section\n" + between + "\n(\"x\")]] int a;\n"),
               test::contains(part_file + ":1: the attribute section is refused"));
    CHECK_THAT(found_in("int f() __attribute__((__alias__ \n\n" + between + "\n (\"x\")));\n"),
               test::contains("the attribute alias is refused"));
  }
  CHECK(found_in("int section;\n#pragma foo\nint alias = section\n;\n") == "nothing");
  CHECK(found_in("int section, alias; bool f() { return section < alias; }\n") == "nothing");
}

TEST_CASE("machine code: a directive that the preprocessor leaves is found") {
  CHECK_THAT(found_in("int a;\n#ident \"x\"\n"),
             test::contains(part_file + ":2: the line '#ident"));
  CHECK_THAT(found_in("%:sccs \"x\"\n"), test::contains("sccs"));
  CHECK_THAT(found_in("#pragma GCC pch_preprocess \"x.gch\"\n"), test::contains("is refused"));
  CHECK_THAT(found_in("# 7 \"a\\nb\"\n"), test::contains("is refused"));
  CHECK_THAT(found_in("%\\\n:ident \"x\"\n"),
             test::contains(part_file + ":1: the line '%\\' is refused"));
  // A directive would otherwise take the marks away.
  CHECK_THAT(found_in(" #undef asm\nasm(\"nop\");\n"),
             test::contains("the line ' #undef asm' is refused"));
  CHECK_THAT(found_in("#pragma GCC poison x\n#pragma pop_macro(\"asm\")\nasm(\"nop\");\n"),
             test::contains("asm is refused"));
}

TEST_CASE("machine code: what texts and names hold is none") {
  CHECK(found_in("const char* a = \"asm(\\\"\\\")\"; char b = '\"'; int asmuch, my_asm;\n") ==
        "nothing");
  CHECK(found_in("auto s = R\"(asm(\"\"))\"; int c = 1'0;\n") == "nothing");
  CHECK(found_in("auto s = R\"(\n# a heading\n#ident \"x\"\n a \\\n)\";\n") == "nothing");
  CHECK(found_in("[[nodiscard]] int f(); [[maybe_unused]] int g;\n#pragma GCC unroll 4\n") ==
        "nothing");
}

TEST_CASE("machine code: an ordinary source is not even preprocessed for a student's own check") {
  CHECK_FALSE(may_hold_machine_code("#include <vector>\nint identity() { return 1; }\n"));
  CHECK(may_hold_machine_code("a\\\nsm(\"\")"));
  CHECK(may_hold_machine_code("#define P(a, b) a ## b\n"));
  CHECK(may_hold_machine_code("#ident \"x\"\n"));
}

TEST_CASE("machine code: bytes that no editor shows are told with their line") {
  CHECK_THAT(hidden_bytes_in("\xEF\xBB\xBFint a;\n", part_file).value_or(""),
             test::contains(part_file + ":1: the file begins with a byte-order mark"));
  CHECK_THAT(hidden_bytes_in(std::string("int a;\nint b\0;\n", 15), part_file).value_or(""),
             test::contains(part_file + ":2: a byte here is 0"));
  CHECK_THAT(hidden_bytes_in("int a;\r\nint b;\r", part_file).value_or(""),
             test::contains(part_file + ":2: a carriage return"));
  CHECK_FALSE(hidden_bytes_in("int a;\r\n// ä\n\f\n", part_file));
}
