// Task: read a hang. Say what happened, who did it and at which collective, from what each rank
// called last and does now. What there is to tell apart stands in engine/comm/hang_report.hpp.
#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {
// >>> your code
// <<< your code

Diagnosis diagnose(const HangReport& report) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)report;
  throw NotImplemented("read_the_hang");
  // <<< your code
}

}  // namespace lockstep::comm
