// The hoarding impostor, with a hoard in a short form: units stay whole from their forward to their
// backward passes, which gather nothing.
#include "grader/impostors/runs.hpp"

#define LOCKSTEP_HOARD lockstep::Runs
#include "grader/impostors/lying/fully_sharded.hoards.cpp"
