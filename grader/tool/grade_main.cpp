// lab-grade: the program behind ./lab grade and ./lab pack, apart from lab-tool so that a student
// who grades nobody does not build it.
#include "grader/batch/grade_command.hpp"
#include "grader/pack/pack_command.hpp"
#include "grader/tool/tool.hpp"

using namespace lockstep::grader;

int main(int argc, char** argv) {
  return run_tool(argc, argv, {{"grade", grade_command}, {"pack", pack_command}}, "grade");
}
