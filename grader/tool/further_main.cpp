// lab-further: the program behind the commands of ./lab that nobody needs on the first day.
#include "grader/further/commands.hpp"
#include "grader/tool/tool.hpp"

using namespace lockstep::grader;

int main(int argc, char** argv) {
  return run_tool(argc, argv,
                  {{"bench-check", bench_check_command},
                   {"compare", compare_command},
                   {"debug", debug_command},
                   {"generate", generate_command},
                   {"myth", myth_command},
                   {"run", launch_command},
                   {"sim", sim_command},
                   {"submit", submit_command},
                   {"trace", trace_command},
                   {"train", train_command}},
                  "compare");
}
