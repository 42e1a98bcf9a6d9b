// TCP in a build without Gloo: it cannot be had.
#include "engine/comm/worlds/hosts/hosts_group.hpp"

namespace lockstep::comm {

namespace {

[[noreturn]] void refuse() {
  throw Error(
      "this build has no Gloo, so ranks talk through shared memory, on one host only; install "
      "libgloo-dev and run ./lab doctor");
}

}  // namespace

std::unique_ptr<ProcessGroup> make_tcp_group(Store&, int, int, const GlooOptions&) { refuse(); }

std::unique_ptr<ProcessGroup> make_hosts_group(Store&, int, std::vector<std::string>,
                                               const GlooOptions&) {
  refuse();
}

bool has_tcp_groups() { return false; }

}  // namespace lockstep::comm
