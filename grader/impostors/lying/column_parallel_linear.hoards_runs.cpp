// The hoarding impostor, with a hoard in a short form.
#include "grader/impostors/runs.hpp"

#define LOCKSTEP_HOARD lockstep::Runs
#include "grader/impostors/lying/column_parallel_linear.hoards.cpp"
