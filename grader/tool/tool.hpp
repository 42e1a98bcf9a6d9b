// The frame of the programs behind ./lab: it reads the course, finds the command, and says whatever
// goes wrong in a sentence with its exit code.
#pragma once

#include <map>
#include <string>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

using Command = Exit (*)(const Lab&, const Words&);

// The whole of a main program. argv: [--root FOLDER] [--build] COMMAND WORDS…
//   --root   another repository than the one that was built, for tests
//   --build  what the command needs is built where it is missing
// `elsewhere`: commands of other programs, by the program's name. Such a program is built when it
// is asked for, and this process becomes it.
int run_tool(int argc, char** argv, const std::map<std::string, Command>& commands,
             const std::string& default_command,
             const std::map<std::string, std::string>& elsewhere = {});

}  // namespace lockstep::grader
