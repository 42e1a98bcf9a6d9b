// ./lab pack: what an instructor gives away. The students' edition has no readable solutions.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit pack_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
