// TCP in a build without Gloo: it cannot be had.
#include "engine/comm/gloo_tcp.hpp"

namespace lockstep::comm {

std::unique_ptr<ProcessGroup> make_tcp_group(Store&, int, int, const GlooOptions&) {
  throw Error(
      "this build has no Gloo, so ranks talk through shared memory, on one host only; install "
      "libgloo-dev and run ./lab doctor");
}

bool has_tcp_groups() { return false; }

}  // namespace lockstep::comm
