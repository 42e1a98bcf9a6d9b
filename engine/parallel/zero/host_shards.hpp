// Sharded state on its way to the host and back (offload). A rank's gradients go down as soon as
// they are reduced, the host updates its parameters, and these come up again.
//   S elements of a rank's shard of a unit
//
//   offload     on the host                                  down, a step  up, a step
//   optimizer   gradients, optimizer state, and parameters   S             S, after the update
//               beside those of the device
//   all         the same, and no shard on the device         S             S for each gather
//
// Several batches of a step go down one by one, and add up on the host, unless they add up before
// they are reduced.
//
// Invariants
//   1. One shard of gradients is on its way down at a time: so much memory the device has for it.
//   2. settle() is called before the update: then the host has the gradients of all units.
//   3. A unit is gathered when its shard has come up.
// Left out: an update that begins before all gradients are there. A bound on their norm needs all.
// Source: [ZOFF21] §4, where the parameters on the host are float32
#pragma once

#include "engine/parallel/zero/host_link.hpp"

namespace lockstep::zero {

enum class Offload : std::uint8_t { nothing, optimizer, all };

class HostShards {
 public:
  // Both must outlive it.
  HostShards(HostLink& link, const comm::ProcessGroup& clock) : link_(link), clock_(clock) {}

  Device& host() const { return link_.host(); }
  // Starts the way down of a gradient [S], which is added to `sum` on the host, or makes it, of
  // this type. Waits for the gradient before it.
  void lower(const Tensor& gradient, Tensor& sum, DType dtype);
  // Waits until the last gradient is down.
  void settle();
  comm::Work raise(const Tensor& on_host, const Tensor& on_device);
  void await(comm::Work& work);

  // Since the last reset.
  HostCopies copies() const;
  void reset();

 private:
  HostLink& link_;
  const comm::ProcessGroup& clock_;
  Tensor falling_;  // the device's
  comm::Work fall_;
  HostTraffic before_;
  double total_s_ = 0, exposed_s_ = 0;
};

}  // namespace lockstep::zero
