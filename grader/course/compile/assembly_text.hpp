// Reads the assembly that a compiler wrote of a student's file: the last search for machine code
// (machine_code.hpp), which knows no way by which text may have come there. It knows what g++
// writes itself, and refuses the rest:
//
//   1. #APP, by which a compiler announces that a source speaks to the assembler;
//   2. directives, sections, flags and operands that compilers do not use, and two statements in a
//      line;
//   3. data in a section that is executed, and gaps that are filled with bytes;
//   4. instructions outside functions, directives and names inside, and more functions than the
//      compiler counted. g++ does not count thunks that it writes as text: they are known by form.
//
// So text that came another way holds no instruction outside functions. Inside, compilers copy
// names, whose lines can look like a compiler's: only the search before this one keeps those out.
// The compiler must leave nothing else there (assembly_flags). Pure functions of text.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::grader {

// Functions in one piece each, without tables, and a list of them beside the assembly, which is
// named like it with .su for .s.
std::vector<std::string> assembly_flags();

// The sentence about the first line that no compiler wrote.
//   functions  the compiler's own list of those it wrote (-fstack-usage)
//   shown      the file as messages name it
std::optional<std::string> foreign_assembly_in(const std::string& assembly,
                                               const std::string& functions,
                                               const std::string& shown);

}  // namespace lockstep::grader
