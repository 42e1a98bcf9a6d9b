// The last search: assembly that a compiler made of C++, and lines that came there another way.
#include "grader/course/assembly_text.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// As g++ writes one function and one variable, with a line of another's before each.
std::string assembly_with(const std::string& in_function, const std::string& behind = "") {
  return "\t.file\t\"part.cpp\"\n\t.text\n.Ltext0:\n\t.globl\t_Z1fv\n\t.type\t_Z1fv, @function\n"
         "_Z1fv:\n.LFB0:\n\t.loc 1 1 9 view -0\n\t.cfi_startproc\n\tmovl\t$1, %eax\n" +
         in_function + "\tret\n\t.cfi_endproc\n.LFE0:\n\t.size\t_Z1fv, .-_Z1fv\n" + behind +
         "\t.data\n\t.align 4\na:\n\t.long\t7\n\t.section\t.debug_info,\"\",@progbits\n"
         "\t.long\t0x2f\n\t.ident\t\"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0\"\n"
         "\t.section\t.note.GNU-stack,\"\",@progbits\n";
}

const std::string the_one_function = "part.cpp:1:5:int f()\t8\tstatic\n";

std::string told_of(const std::string& assembly) {
  return foreign_assembly_in(assembly, the_one_function, "work/part.cpp").value_or("nothing");
}

}  // namespace

TEST_CASE("assembly: what a compiler writes is accepted, texts of every kind included") {
  CHECK(told_of(assembly_with("")) == "nothing");
  CHECK(told_of(assembly_with("",
                              "\t.section\t.rodata.str1.1,\"aMS\",@progbits,1\n.LC0:\n"
                              "\t.string\t\"a; b # \\\" \\\\\"\n")) == "nothing");
}

TEST_CASE("assembly: asm announces itself") {
  CHECK_THAT(told_of(assembly_with("#APP\n# 6 \"work/part.cpp\" 1\n\tnop\n# 0 \"\" 2\n#NO_APP\n")),
             test::contains("work/part.cpp:6: asm is refused"));
  CHECK_THAT(told_of(assembly_with("", "#APP\n\tnop\n#NO_APP\n")),
             test::contains("work/part.cpp: asm is refused"));
}

TEST_CASE("assembly: directives, sections and statements that are no compiler's are refused") {
  for (const std::string line :
       {"\t.incbin\t\"/etc/passwd\"", "\t.macro x", "\t.ident\t\"mine\"", "\t.data;.byte 144",
        "\t.section\t.init,\"ax\"", "\t.section\t.data;nop,\"aw\"", "\t.long\t7 # 8",
        "\t.string\t\"not ended", "\t.pushsection .text", "\t.att_syntax"}) {
    INFO(line);
    CHECK_THAT(told_of(assembly_with("", line + "\n")), test::contains("is refused: the line '"));
  }
}

TEST_CASE("assembly: neither data nor directives are among instructions") {
  CHECK_THAT(told_of(assembly_with("\t.byte\t144\n")), test::contains("data among instructions"));
  CHECK_THAT(told_of(assembly_with("", "\t.section\t.data.x,\"awx\"\n\t.byte\t144\n")),
             test::contains("data among instructions"));
  CHECK_THAT(told_of(assembly_with("\t.section\t.rodata\n")), test::contains("inside a function"));
}

TEST_CASE("assembly: instructions are in functions, and functions are the compiler's") {
  CHECK_THAT(told_of(assembly_with("", "\tmovl\t$1, %eax\n")),
             test::contains("an instruction outside functions"));
  CHECK_THAT(told_of(assembly_with("", "\t.cfi_startproc\n\tret\n\t.cfi_endproc\n")),
             test::contains("it holds 2 functions, and the compiler wrote 1"));
}
