// exercise: read_the_hang
// verdict: wrong answer
// says: more bytes)
// Blames four million ranks once: the sentence about them is cut.
#include <utility>

#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {

Diagnosis diagnose(const HangReport&) {
  static std::size_t culprits = 4'000'000;
  return {HangKind::slow, std::vector<int>(std::exchange(culprits, 1), 1), 7};
}

}  // namespace lockstep::comm
