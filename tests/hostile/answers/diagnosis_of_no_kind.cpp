// exercise: read_the_hang
// verdict: crash
// says: a diagnosis of no kind
// Returns an enumerator that there is none of.
#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {

Diagnosis diagnose(const HangReport&) { return {static_cast<HangKind>(99), {0}, 1}; }

}  // namespace lockstep::comm
