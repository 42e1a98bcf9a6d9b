// Lets editors understand the files in work/: writes work/compile_commands.json, by which clangd
// and others know how each file is compiled.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Writes it anew where it is missing or says something else; nothing where the lab is not built.
void write_compile_commands(const Lab& lab);

}  // namespace lockstep::grader
