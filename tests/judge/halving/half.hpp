// A part that is small enough to be got wrong in every way, for the tests of known mistakes.
#pragma once

namespace lockstep::halving {

// Half of n, rounded towards 0.
int half(int n);

}  // namespace lockstep::halving
