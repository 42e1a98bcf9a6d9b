// ./lab dev prove and ./lab dev matrix.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit prove_command(const Lab& lab, Words words);   // [NAME…] [--afresh]
Exit matrix_command(const Lab& lab, Words words);  // [NAME…], or --page FILE

}  // namespace lockstep::grader
