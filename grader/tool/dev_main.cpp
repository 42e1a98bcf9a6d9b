// lab-dev: the program behind ./lab dev, for those who change the course.
#include "grader/dev/dev.hpp"
#include "grader/tool/tool.hpp"

using namespace lockstep::grader;

int main(int argc, char** argv) { return run_tool(argc, argv, {{"dev", dev_command}}, "dev"); }
