// Task: read a hang. From each rank's last call and its activity, say what happened, which ranks
// are to blame, and at which collective. The kinds to tell apart are in
// engine/comm/hang_report.hpp.
#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {
// >>> your code
// <<< your code

Diagnosis diagnose(const HangReport& report) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)report;
  throw NotImplemented("read_the_hang");
  // <<< your code
}

}  // namespace lockstep::comm
