#include "engine/comm/shm_collectives.hpp"

#include "engine/comm/shm_round.hpp"

namespace lockstep::comm::shm {

void Collectives::run(const Carried& call, Manner manner) {
  Round round(*this, call, manner);
  switch (call.collective.kind) {
    case CollectiveKind::reduce:
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
      run_reduction(round);
      break;
    default:
      run_movement(round);
  }
  // release: a peer that asks what this rank did last sees the whole record.
  membership_.control()
      .line(membership_.rank())
      .finished.store(call.number, std::memory_order_release);
}

}  // namespace lockstep::comm::shm
