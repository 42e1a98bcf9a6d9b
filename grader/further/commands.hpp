// Commands of ./lab that nobody needs on the first day. They are a program of their own,
// lab-further, which is built when one of them is asked for.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit bench_check_command(const Lab& lab, const Words& words);
Exit compare_command(const Lab& lab, const Words& words);
Exit debug_command(const Lab& lab, const Words& words);
Exit generate_command(const Lab& lab, const Words& words);
Exit launch_command(const Lab& lab, const Words& words);
Exit myth_command(const Lab& lab, const Words& words);
Exit sim_command(const Lab& lab, const Words& words);
Exit submit_command(const Lab& lab, const Words& words);
Exit trace_command(const Lab& lab, const Words& words);
Exit train_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
