#include "engine/sim/core/finding.hpp"

namespace lockstep::sim {

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::mismatch:
      return "mismatch";
    case FindingKind::undelivered:
      return "undelivered";
    case FindingKind::in_flight:
      return "in flight";
    case FindingKind::rank_exited:
      return "rank exited";
    case FindingKind::crash:
      return "crash";
    case FindingKind::time:
      return "time";
    case FindingKind::memory:
      return "memory";
    case FindingKind::output:
      return "output";
    case FindingKind::traffic_limit:
      return "traffic limit";
    case FindingKind::unsolved:
      return "unsolved";
    case FindingKind::infrastructure:
      break;
  }
  return "infrastructure";
}

}  // namespace lockstep::sim
