// ./lab bench all_reduce: the sides, in turns, each in fresh processes; the table and the JSON.
#pragma once

namespace lockstep::bench {

// The words after "lab bench", "all_reduce" among them. Returns the exit code.
int run_all_reduce(int argc, const char* const* argv);

}  // namespace lockstep::bench
