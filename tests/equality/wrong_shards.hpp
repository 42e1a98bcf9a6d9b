// A group that carries shards wrongly: the mistakes that sharded state invites, as its collectives
// would show them.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

enum class WrongShard : std::uint8_t {
  none,
  leaking_padding,  // what is reduced has a one where a unit's padding is
  averaged_twice,   // the mean of a shard is divided by the ranks again
  shifted,          // a rank's range begins one element late
  local_norm,       // the sum of squares is this rank's own
  // No mistake: in the first step, a gradient overflows in the shard of rank 1; in all shards.
  overflow_of_one,
  overflow_of_all,
  local_skip,  // the former, and each rank decides by itself whether it skips the step
};

// In front of `inner`, which must outlive it. Of three ranks and the bar's model, each of whose
// units is padded.
std::unique_ptr<comm::ProcessGroup> make_wrong_shards(comm::ProcessGroup& inner, WrongShard fault);

}  // namespace lockstep::test
