// How soon something happens, on a machine that may have other work.
#pragma once

#include <algorithm>

namespace lockstep::test {

// The fewest seconds of several tries of `once`, which returns how long it took and checks all else
// each time. There is another try, up to five, while none took less than `enough_s`: other work
// delays a try, and what is slow by itself is slow in each.
template <typename Once>
double fewest_seconds(double enough_s, const Once& once) {
  double fewest = once();
  for (int tries = 1; tries < 5 && fewest >= enough_s; ++tries) fewest = std::min(fewest, once());
  return fewest;
}

}  // namespace lockstep::test
