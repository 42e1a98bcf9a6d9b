// Ways by which a source could speak to the assembler, tried with the real compiler, and sources
// that only look like it.
#include "grader/course/compile/inspection.hpp"

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// What comes of a part with these lines before it, built as a class's hand-ins are, but in the
// open.
std::string cause_with(const std::string& lines) {
  const test::Scratch scratch;
  Exercise exercise;
  exercise.name = "toy";
  exercise.lesson = "06_x";
  exercise.header = "toy.hpp";
  exercise.symbols = {"lockstep::toy(int)"};
  const Places here{scratch.path(), scratch.path() / "build"};
  write_text(here.recipe(exercise),
             std::string("compiler ") + LOCKSTEP_CXX +
                 "\ncompile_flag -std=c++20\ncompile_flag -O1\ncompile_flag -g1\nlink_flag -r\n");
  const std::string source = lines + "\nnamespace lockstep { int toy(int x) { return x + 22; } }\n";
  write_text(here.work(exercise), source);
  const StudentBuild build = build_player(here, exercise, here.work(exercise), source,
                                          scratch.path() / "player", openly(here));
  return build.cause.empty() ? "built" : build.cause;
}

const std::string a_byte =
    "\\n\\t.byte 144\\n#\"";  // a line for the assembler, in a text that ends

}  // namespace

TEST_CASE("inspection: no text that g++ copies into its assembly comes through") {
  for (const std::string& lines : std::vector<std::string>{
           "#ident \"\\\"" + a_byte,
           "#define TEXT \"\\\"" + a_byte + "\n%:sccs TEXT",
           "[[gnu::section(true ? \".data" + a_byte + " : \"\")]] int a = 1;",
           "int f() asm(\"__f" + a_byte + "); int (*g)() = f;",
           "static int f() __attribute__((weakref(\"x" + a_byte + "))); int (*g)() = f;",
           "#define EMPTY\n%\\EMPTY\n:ident \"\\\"" + a_byte,
           "#define HASH #\nHASH undef asm\nasm(\"nop\");",
           "#pragma push_macro(\"asm\")\n#pragma pop_macro(\"asm\")\nasm(\"nop\");",
           "#line 7 \"a\\nb\\tx\\t16\\tstatic\\n\"\nint f() { return 1; }",
           "template <typename T> T f(T x) { __asm__(\"nop\"); return x; }",
           "#include <sys/io.h>\nint f() { return inb(1); }",
           "# 3 \"/usr/include/y.h\" 1 3\nasm(\"nop\");",
           "[[gnu::section\n#pragma foo\n(\".data" + a_byte + ")]] int a = 1;",
           "[[gnu::section\n#line 7\n(\".data" + a_byte + ")]] int a = 1;",
           "[[gnu::section" + std::string(12, '\n') + "(\".data" + a_byte + ")]] int a = 1;",
           "[[using gnu: section\n# 5 \"y.h\"\n(\".data" + a_byte + ")]] int a = 1;",
           "extern \"C\" int t() { return 1; }\n"
           "extern \"C\" int a() __attribute__((alias\n#pragma foo\n(\"t\")));",
           "# 5 \"y.h\"\nint f() asm\n# 5 \"y.h\"\n(\"__f" + a_byte + "); int (*g)() = f;",
       }) {
    INFO(lines);
    CHECK(cause_with(lines) == "machine_code");
  }
}

TEST_CASE("inspection: what C++ for this course may hold is built") {
  for (const std::string lines : {
           "#include <thread>\n#include <regex>\n#include <atomic>\n#include <immintrin.h>",
           "#pragma GCC optimize(\"O3\")\n#include <vector>\n#include <stdexcept>\n"
           "int f(const std::vector<int>& v, int i) {\n"
           "  if (i < 0) throw std::runtime_error(\"no\");\n"
           "  try { return v.at(i); } catch (...) { return 1; } }",
           "int f(int x) { switch (x) { case 0: return 17; case 1: return x + 3; case 2: return "
           "9;\n"
           "  case 3: return 5; case 4: return x / 3; case 5: return -x; } return 0; }",
           "struct A { virtual int f() { return 1; } int a = 1; };\n"
           "struct B { virtual int g() { return 2; } int b = 1; };\n"
           "struct C : A, B { int g() override { return a; } };\nB* make() { return new C; }",
           "struct A { virtual ~A(); int a = 1; };\nstruct B { virtual int g(); int b = 1; };\n"
           "struct C : A, B { ~C() override; int g() override; };\nint h(int x);\nA::~A() {}\n"
           "C::~C() {}\nint B::g() { return 2; }\nint C::g() { return h(h(h(h(a)))); }",
           "struct V { virtual int f(); virtual V* c(); int v = 0; };\n"
           "struct P { virtual ~P() = default; int p = 0; };\n"
           "struct W : P, virtual V { int f() override; W* c() override; };\nint h(W*);\n"
           "int V::f() { return 1; }\nV* V::c() { return this; }\n"
           "int W::f() { return h(this) + h(this); }\nW* W::c() { return this; }",
           "const char* const a = R\"(\n# heading\n#ident \"x\"\nasm(\"nop\"); \\\n)\";",
           "thread_local int a = 1; int größe() { return ++a; }",
       }) {
    INFO(lines);
    CHECK(cause_with(lines) == "built");
  }
}

TEST_CASE("inspection: a player's stack does not run, whatever its object asks for") {
  const test::Scratch scratch;
  const Places here{scratch.path(), scratch.path() / "build"};
  write_text(scratch.path() / "part.cpp",
             "asm(\".section .note.GNU-stack,\\\"x\\\",@progbits\\n.text\");\nint main() {}\n");
  Recipe recipe;
  recipe.compiler = LOCKSTEP_CXX;
  const auto run = [&](const std::vector<std::string>& words) {
    const CommandResult result = run_command(words, scratch.path(), test::patient);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  run({recipe.compiler, "-c", "part.cpp", "-o", "part.o"});
  const auto stack_of = [&](const std::string& program) {
    const std::string all = run({"readelf", "-lW", program});
    const std::size_t at = all.find("GNU_STACK");
    REQUIRE(at != std::string::npos);
    return all.substr(at, all.find('\n', at) - at);
  };
  run({recipe.compiler, "part.o", "-o", "usual"});
  CHECK_THAT(stack_of("usual"), test::contains(" RWE "));
  const StudentBuild build =
      link_player(here, recipe, "part.cpp", scratch.path() / "part.o", scratch.path() / "player");
  REQUIRE(build.cause.empty());
  CHECK_THAT(stack_of("player"), !test::contains(" RWE ") && test::contains(" RW "));
}
