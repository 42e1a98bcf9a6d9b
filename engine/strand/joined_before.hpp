// A strand that is joined a second time says so: its first join() may have thrown what its body
// threw, which leaves the handle where it was.
#pragma once

namespace lockstep {

inline constexpr const char* joined_before =
    "join: this strand was joined before, and a strand is joined once; join() throws what the "
    "body threw, so take the handle out of where it is kept before you join it";

}  // namespace lockstep
