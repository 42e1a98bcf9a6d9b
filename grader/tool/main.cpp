// lab-tool: the program behind ./lab for everything about exercises. It is the first that is built,
// so it holds what a student needs on the first day, and becomes another program for the rest.
#include "grader/tool/tool.hpp"

using namespace lockstep::grader;

int main(int argc, char** argv) {
  return run_tool(argc, argv,
                  {{"begin", begin_command},
                   {"check", check_command},
                   {"hint", hint_command},
                   {"list", list_command},
                   {"next", next_command},
                   {"overview", overview_command},
                   {"predict", predict_command},
                   {"quiz", quiz_command},
                   {"reset", reset_command},
                   {"show", show_command},
                   {"solution", solution_command},
                   {"watch", watch_command}},
                  "overview",
                  {{"bench-check", "lab-further"},
                   {"compare", "lab-further"},
                   {"debug", "lab-further"},
                   {"dev", "lab-dev"},
                   {"myth", "lab-further"},
                   {"run", "lab-further"},
                   {"sim", "lab-further"},
                   {"submit", "lab-further"},
                   {"trace", "lab-further"},
                   {"train", "lab-further"}});
}
