// lab-tool: the program behind ./lab for everything about exercises.
#include "grader/tool/tool.hpp"

using namespace lockstep::grader;

int main(int argc, char** argv) {
  return run_tool(argc, argv,
                  {{"check", check_command},       {"list", list_command},
                   {"show", show_command},         {"reset", reset_command},
                   {"begin", begin_command},       {"dev", dev_command},
                   {"trace", trace_command},       {"compare", compare_command},
                   {"train", train_command},       {"sim", sim_command},
                   {"run", launch_command},        {"watch", watch_command},
                   {"hint", hint_command},         {"submit", submit_command},
                   {"quiz", quiz_command},         {"predict", predict_command},
                   {"myth", myth_command},         {"debug", debug_command},
                   {"overview", overview_command}, {"next", next_command},
                   {"solution", solution_command}, {"bench-check", bench_check_command}},
                  "overview");
}
