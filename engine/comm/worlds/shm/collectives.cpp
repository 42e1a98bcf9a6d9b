#include "engine/comm/worlds/shm/collectives.hpp"

#include "engine/comm/worlds/shm/round.hpp"

namespace lockstep::comm::shm {

void Collectives::run(const Call& call, Manner manner) {
  Round round(*this, call, manner);
  const auto run = traits_of(call.collective.kind).reduces ? run_reduction : run_movement;
  try {
    run(round);
    round.check_lenders();
  } catch (...) {
    round.hold_lent();
    throw;
  }
  // release: a peer that asks what this rank did last sees the whole record.
  membership_.control()
      .line(membership_.rank())
      .finished.store(call.number, std::memory_order_release);
}

}  // namespace lockstep::comm::shm
