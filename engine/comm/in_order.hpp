// Operations of a group that run one after the other, in the order in which they were given: on a
// thread (ordered_worker.hpp) or on a strand of any kind (ordered_strand.hpp). Of both is true:
//
//   1. Nothing is started until the first operation is given.
//   2. A blocking operation runs in the caller when none is queued or runs.
//   3. Work::wait() throws what the operation threw. An operation holds nothing, no tensor either,
//      when its Work is done.
//   4. Who ends it waits for the operation that runs; those not begun fail.
#pragma once

#include <exception>
#include <functional>

#include "engine/base/error.hpp"

namespace lockstep::comm {

using OrderedBody = std::function<void()>;

// The exception that the Work of an operation throws that was never begun.
inline std::exception_ptr never_began() {
  return std::make_exception_ptr(CommError(
      "the group ended before this operation began; wait for every Work before the group"));
}

}  // namespace lockstep::comm
