#include "grader/judge/verdict.hpp"

namespace lockstep::grader {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::efficiency:
      return "efficiency";
    case Verdict::wrong_answer:
      return "wrong answer";
    case Verdict::deadlock:
      return "deadlock";
    case Verdict::mismatch:
      return "mismatch";
    case Verdict::undelivered:
      return "undelivered";
    case Verdict::in_flight:
      return "in flight";
    case Verdict::rank_exited:
      return "rank exited";
    case Verdict::crash:
      return "crash";
    case Verdict::time:
      return "time";
    case Verdict::memory:
      return "memory";
    case Verdict::output:
      return "output";
    case Verdict::traffic_limit:
      return "traffic limit";
    case Verdict::nondeterministic:
      return "nondeterministic";
    case Verdict::compile_error:
      return "compile error";
    case Verdict::unsolved:
      return "unsolved";
    case Verdict::refused:
      return "refused";
    case Verdict::missing:
      return "missing";
    case Verdict::infrastructure:
      break;
  }
  return "infrastructure";
}

Verdict verdict_of(sim::FindingKind kind) {
  using sim::FindingKind;
  switch (kind) {
    case FindingKind::deadlock:
      return Verdict::deadlock;
    case FindingKind::mismatch:
      return Verdict::mismatch;
    case FindingKind::undelivered:
      return Verdict::undelivered;
    case FindingKind::in_flight:
      return Verdict::in_flight;
    case FindingKind::rank_exited:
      return Verdict::rank_exited;
    case FindingKind::crash:
      return Verdict::crash;
    case FindingKind::time:
      return Verdict::time;
    case FindingKind::memory:
      return Verdict::memory;
    case FindingKind::output:
      return Verdict::output;
    case FindingKind::traffic_limit:
      return Verdict::traffic_limit;
    case FindingKind::unsolved:
      return Verdict::unsolved;
    case FindingKind::infrastructure:
      break;
  }
  return Verdict::infrastructure;
}

}  // namespace lockstep::grader
