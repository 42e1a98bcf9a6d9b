// Task: send only the k largest entries of a gradient, with their signs and places, and keep the
// rest for the next call (error feedback). Add the gradient to the residual, take the k largest
// entries out of it, gather those of all ranks, and return a Work whose wait() adds them up where
// they belong. The contract is in engine/parallel/compress/top_k.hpp. entries.hpp beside it says
// how many entries travel, and writes and adds them; `then` makes such a Work.
#include "engine/parallel/compress/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"

namespace lockstep::compress {

// >>> your code
// <<< your code

comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction) {
  const std::int64_t count = gradient.numel();
  LOCKSTEP_CHECK(gradient.dtype() == DType::float32 || gradient.dtype() == DType::float64,
                 "top_k_reduce: a gradient of ", name_of(gradient.dtype()), " on rank ",
                 group.rank(), "; pass float32 or float64, for what is left out adds up");
  LOCKSTEP_CHECK(residual.numel() == count && residual.dtype() == gradient.dtype(),
                 "top_k_reduce: a residual of ", residual.numel(), " ", name_of(residual.dtype()),
                 " for a gradient of ", count, " ", name_of(gradient.dtype()), " on rank ",
                 group.rank(), "; a residual belongs to one gradient");
  LOCKSTEP_CHECK(count <= std::numeric_limits<std::int32_t>::max(), "top_k_reduce: ", count,
                 " elements; places travel in 32 bits: pass buckets of less than 2^31 elements");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)gradient, (void)residual, (void)fraction;
  throw NotImplemented("top_k_error_feedback");
  // <<< your code
}

}  // namespace lockstep::compress
