// The Gloo backend over TCP, whichever hosts the ranks are on: what gloo.hpp chooses when the ranks
// do not share one. gloo.cpp when the library is there, no_gloo.cpp when it is not.
#pragma once

#include "engine/comm/gloo.hpp"

namespace lockstep::comm {

// As make_gloo_group, but for the choice of a transport.
std::unique_ptr<ProcessGroup> make_tcp_group(Store& store, int rank, int size,
                                             const GlooOptions& options);

}  // namespace lockstep::comm
