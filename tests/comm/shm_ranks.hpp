// Groups in shared memory for tests: ranks as threads of this process, which is quick, or as
// processes, which can die.
#pragma once

#include "engine/comm/worlds/shm/shm_group.hpp"
#include "tests/comm/ranks.hpp"

namespace lockstep::test {

// All ranks' outcomes; those of threads have no pid of their own, so they cannot be killed.
std::vector<Outcome> run_shm_threads(int ranks, const RankGroup& body, double timeout_s = late_s);
std::vector<Outcome> run_shm(int ranks, const RankGroup& body, double timeout_s = late_s);

}  // namespace lockstep::test
