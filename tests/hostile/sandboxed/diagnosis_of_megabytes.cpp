// exercise: read_the_hang
// verdict: wrong answer
// says: more bytes)
// Blames four million ranks: the sentence about them is cut.
#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {

Diagnosis diagnose(const HangReport&) {
  return {HangKind::slow, std::vector<int>(4'000'000, 1), 7};
}

}  // namespace lockstep::comm
