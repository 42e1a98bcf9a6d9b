// The world group of a rank on the simulated cluster: every operation is a request to the core.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::comm {

// The treatment of a tensor's elements when irecv is posted for it. Until wait() returns, nobody
// may read them. With `scribbled`, every byte becomes posted_byte, so that a program that reads
// them shows it in its result.
enum class PostedRoom : unsigned char { kept, scribbled };
inline constexpr unsigned char posted_byte = 0xDB;

// `port` must outlive the group and all groups split from it. native collectives are one priced
// request each.
std::unique_ptr<ProcessGroup> make_sim_group(sim::Port& port, int rank, int size,
                                             PostedRoom posted = PostedRoom::kept);

}  // namespace lockstep::comm
