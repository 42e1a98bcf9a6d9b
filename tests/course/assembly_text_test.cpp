// The last search: assembly that a compiler made of C++, and lines that came there another way.
#include "grader/course/compile/assembly_text.hpp"

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
  CHECK_THAT(told_of(assembly_with("", "\t.text\n\t.byte\t144\n")),
             test::contains("data among instructions"));
  CHECK_THAT(told_of(assembly_with("\t.section\t.rodata\n")), test::contains("inside a function"));
}

TEST_CASE("assembly: sections have no flags that make data run, the stack, or what runs writable") {
  for (const std::string section :
       {".data.x,\"awx\"", ".note.GNU-stack,\"x\",@progbits", ".text.x,\"awx\"", ".data,6",
        ".data, \"awx\"", ".data,\"0x7\""}) {
    INFO(section);
    CHECK_THAT(told_of(assembly_with("", "\t.section\t" + section + "\n")),
               test::contains("has flags that are no compiler's"));
  }
}

TEST_CASE("assembly: a label stands by itself, with a name") {
  CHECK_THAT(told_of(assembly_with("", "core: .byte 144\n")),
             test::contains("no compiler's label"));
  CHECK_THAT(told_of(assembly_with("", "core:\tnop\n")), test::contains("no compiler's label"));
  CHECK_THAT(told_of(assembly_with("", "a=b:\n")), test::contains("no compiler's label"));
  CHECK_THAT(told_of(assembly_with("\tcall\tf\ncore:\n\tret\n")),
             test::contains("the line 'core:' is a label inside a function"));
  CHECK_THAT(told_of(assembly_with("1:\n")), test::contains("a label inside a function"));
  CHECK(told_of(assembly_with(".L2:\n", "\t.data\n0:\n")) == "nothing");
}

TEST_CASE("assembly: an instruction has registers, numbers, symbols and memory") {
  for (const std::string line :
       {"\tcall\t_Z1fv@PLT", "\tmovq\t8+x@GOTPCREL(%rip), %rax", "\tmovq\t%fs:40, %rax",
        "\trep stosq", "\tjmp\t*8(%rax,%rcx,4)", "\tvaddps\t%zmm0, %zmm1, %zmm2{%k1}{z}",
        "\tlock xaddl\t%eax, (%rdi)", "\taddl\t$-1, größe(%rip)"}) {
    INFO(line);
    CHECK(told_of(assembly_with(line + "\n")) == "nothing");
  }
  for (const std::string line : {"core:nop", "x = 5", "\tcall\tcore: nop", "\tjmp\t\"a b\"",
                                 "\tmovl\t$'a, %eax", "\tmovl\t$(1|2), %eax", "\tNOP"}) {
    INFO(line);
    CHECK_THAT(told_of(assembly_with(line + "\n")), test::contains("as compilers write it"));
  }
}

TEST_CASE("assembly: the assembler chooses what fills a gap") {
  CHECK(told_of(assembly_with("\t.p2align 4,,10\n\t.align\t8\n")) == "nothing");
  CHECK_THAT(told_of(assembly_with("\t.p2align 4,0xc3\n")), test::contains("fills a gap"));
  CHECK_THAT(told_of(assembly_with("", "\t.text\n\t.align 2, 195\n")),
             test::contains("fills a gap"));
}

TEST_CASE("assembly: a thunk that the compiler does not list is no more than a thunk") {
  const auto with_function = [](const std::string& name, const std::string& body) {
    return assembly_with(
        "", "\t.text\n" + name + ":\n.LFB3:\n\t.cfi_startproc\n" + body + "\t.cfi_endproc\n");
  };
  const std::string name = "_ZThn16_N1C1gEv", more = "it holds 2 functions";
  const std::string thunk = "\tsubq\t$16, %rdi\n\tjmp\t.LTHUNK0\n";
  CHECK(told_of(with_function(name, thunk)) == "nothing");
  CHECK_THAT(told_of(with_function("core", thunk)), test::contains(more));
  CHECK_THAT(told_of(with_function(name, "\tsqrtsd\t%xmm0, %xmm0\n" + thunk)),
             test::contains(more));
  CHECK_THAT(told_of(with_function(name, thunk + "\tret\n")), test::contains(more));
  CHECK_THAT(told_of(with_function(name, "\tsubq\t$16, %rdi\n\tjmp\tcore\n")),
             test::contains(more));
  // One that is listed is counted like a function.
  CHECK_THAT(foreign_assembly_in(with_function(name, thunk),
                                 "part.cpp:1:5:virtual int C::" + name + "()\t8\tstatic\n",
                                 "work/part.cpp")
                 .value_or(""),
             test::contains("it holds 2 functions, and the compiler wrote 1"));
}

TEST_CASE("assembly: instructions are in functions, and functions are the compiler's") {
  CHECK_THAT(told_of(assembly_with("", "\tmovl\t$1, %eax\n")),
             test::contains("an instruction outside functions"));
  CHECK_THAT(told_of(assembly_with("", "\t.cfi_startproc\n\tret\n\t.cfi_endproc\n")),
             test::contains("it holds 2 functions, and the compiler wrote 1"));
}
