// Counters add up.
#include "engine/paper/counters.hpp"

namespace lockstep::paper {

Counters& Counters::operator+=(const Counters& other) {
  launches += other.launches;
  instructions += other.instructions;
  lane_instructions += other.lane_instructions;
  flops += other.flops;
  device_requests += other.device_requests;
  sectors += other.sectors;
  sectors_needed += other.sectors_needed;
  shared_requests += other.shared_requests;
  bank_passes += other.bank_passes;
  passes_needed += other.passes_needed;
  barriers += other.barriers;
  atomics += other.atomics;
  divergent_branches += other.divergent_branches;
  return *this;
}

Apart& Apart::operator+=(const Apart& other) {
  if (state == State::unseen) {
    *this = other;
  } else if (other.state != State::unseen && (other.state != state || other.bytes != bytes)) {
    state = State::mixed;
  }
  return *this;
}

LineCounters& LineCounters::operator+=(const LineCounters& other) {
  counters += other.counters;
  device += other.device;
  shared += other.shared;
  return *this;
}

}  // namespace lockstep::paper
