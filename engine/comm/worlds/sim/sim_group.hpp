// The world group of a rank on the simulated cluster: every operation is a request to the core.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::comm {

// What becomes of a tensor's elements when irecv is posted for it. Until wait() returns they are
// nobody's to read: scribbled, every byte is posted_byte, so that a program that reads them shows
// it in its result.
enum class PostedRoom : unsigned char { kept, scribbled };
inline constexpr unsigned char posted_byte = 0xDB;

// `port` must outlive the group and all groups split from it. native collectives are one priced
// request each.
std::unique_ptr<ProcessGroup> make_sim_group(sim::Port& port, int rank, int size,
                                             PostedRoom posted = PostedRoom::kept);

}  // namespace lockstep::comm
