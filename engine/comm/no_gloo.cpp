// The Gloo backend of a build without Gloo: one rank needs no network, more cannot be had.
#include "engine/comm/gloo.hpp"
#include "engine/comm/solo_group.hpp"

namespace lockstep::comm {

std::unique_ptr<ProcessGroup> make_gloo_group(Store&, int, int size, const GlooOptions&) {
  if (size == 1) return make_solo_group();
  throw Error("this build has no Gloo: install libgloo-dev and run ./lab doctor");
}

}  // namespace lockstep::comm
