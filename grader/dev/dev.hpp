// ./lab dev: the program lab-dev, which only those who change the course build.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit dev_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
