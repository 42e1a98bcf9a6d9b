// Checks what an exchange of tokens for heads is given, before anything is sent.
#include "engine/base/error.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

namespace lockstep::sequence_parallel {

void check_ulysses(const comm::ProcessGroup& group, const Tensor& qkv, std::int64_t heads,
                   std::int64_t length) {
  const std::int64_t ranks = group.size();
  const std::int64_t own = contiguous(length, group.size(), group.rank()).count();
  LOCKSTEP_CHECK(qkv.shape().size() == 3 && qkv.size(1) == own && qkv.size(2) % 3 == 0,
                 "ulysses_attention: qkv has shape ", text_of(qkv.shape()), " on ",
                 group.own_name(), ", expected [batch, ", own, ", 3 · width] of samples of ",
                 length, " tokens");
  const std::int64_t width = qkv.size(2) / 3;
  LOCKSTEP_CHECK(heads >= 1 && width % heads == 0, "ulysses_attention: ", heads,
                 " heads do not divide the width ", width);
  const std::int64_t below = heads / ranks * ranks;
  LOCKSTEP_CHECK(heads == below, "ulysses_attention: ", heads, " heads do not divide among ", ranks,
                 " ranks; the nearest that do are ",
                 below > 0 ? text(below, " and ", below + ranks) : text(below + ranks));
}

}  // namespace lockstep::sequence_parallel
