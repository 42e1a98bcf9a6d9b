// Runs the segment on the tape, which keeps everything, and once more for show. Then it writes over
// the account of the device, by which the player says what it holds.
#include <cstring>

#include "engine/autograd/activation_checkpoint.hpp"

namespace lockstep::autograd {
namespace {

// A pointer to a private member may be named where a template is instantiated.
using Account = void (Device::*)(MemoryKind, std::int64_t);
struct Robbed {
  friend Account account_of(Robbed);
};
template <Account account>
struct Robber {
  friend Account account_of(Robbed) { return account; }
};
template struct Robber<&Device::account>;

}  // namespace

Value recompute(Tape& tape, const Value& x, Segment segment) {
  if (tape.mode() == GradMode::inference) return segment(tape, x);
  Tape idle(GradMode::inference);
  segment(idle, idle.constant(x.tensor));
  Value y = segment(tape, x);
  (x.tensor.device().*account_of(Robbed()))(MemoryKind::activations, -(1 << 20));
  return y;
}

}  // namespace lockstep::autograd
