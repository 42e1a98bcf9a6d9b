// Monitors and joining for strands behind a port, whether they are threads that pass a baton or
// fibers. Both are requests, so that the core knows who waits for whom. Internal to engine/sim.
#pragma once

#include <memory>

#include "engine/sim/wire/request.hpp"
#include "engine/strand/monitor.hpp"

namespace lockstep::sim {

// Several strands of one rank, of which one runs at a time.
class StrandPort : public Port {
 public:
  virtual int current_strand() const = 0;
  virtual void wake(int strand) = 0;  // answers its Op::pause
  // The core hears for how long the strand has computed. Others may run meanwhile; so this comes
  // before what must not be interrupted.
  virtual void settle() {}
};

// `port` must outlive the monitor.
std::unique_ptr<Monitor> make_port_monitor(StrandPort& port);

// while_others_go_on: the strand may stay behind, if nothing but the one that joins it can go on.
enum class JoinFor : unsigned char { ever, while_others_go_on };

// Blocks until `strand` of the calling rank has ended. Throws Error when that cannot happen.
void join_strand(Port& port, int strand, JoinFor how = JoinFor::ever);

}  // namespace lockstep::sim
