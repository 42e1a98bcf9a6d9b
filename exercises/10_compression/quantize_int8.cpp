// Task: sum a tensor over the ranks while it travels in 8 bits. Quantise N parts in chunks, send
// part p to rank p (all_to_all), add what arrives as float32, quantise the sum, and send it to all
// ranks (all_gather). The contract is in engine/parallel/compress/quantize.hpp. blocks.hpp beside
// it says where parts, codes and scales lie, and `then` makes a Work that goes on when the first
// exchange is over.
#include "engine/parallel/compress/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/compress/blocks.hpp"
#include "engine/parallel/compress/continuation.hpp"

namespace lockstep::compress {

// >>> your code
// <<< your code

comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data, std::int64_t chunk) {
  LOCKSTEP_CHECK(chunk >= 1, "quantized_all_reduce: a chunk of ", chunk,
                 " elements; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(data.dtype()), "quantized_all_reduce: elements of ",
                 name_of(data.dtype()), " on rank ", group.rank(),
                 "; only floating point is quantised");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)data, (void)chunk;
  throw NotImplemented("quantize_int8");
  // <<< your code
}

}  // namespace lockstep::compress
