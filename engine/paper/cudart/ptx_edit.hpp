// One change to the PTX of a kernel before it is decoded, for tests that ask whether anybody would
// notice: a barrier less, a bound off by one.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::paper {

struct EditedPtx {
  std::string text;
  std::string refusal;  // not empty: the edit does not read, or its kernel has no such place
  int changes = 0;
};

//   edit  "kernel~n~find~put": in each kernel whose mangled name has `kernel` in it, the n-th
//         `find`, counted from 1, becomes `put`
// A module without such a kernel stays as it is.
EditedPtx edited_ptx(std::string_view ptx, std::string_view edit);

}  // namespace lockstep::paper
