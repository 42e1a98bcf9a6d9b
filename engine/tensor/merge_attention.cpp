#include "engine/tensor/merge_attention.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

void merge_attention(const Attention& into, const Attention& block) {
  check_float("merge_attention", into.output);
  check_same("merge_attention", into.output, block.output);
  check_same("merge_attention", into.log_sums, block.log_sums);
  const Shape &output = into.output.shape(), &sums = into.log_sums.shape();
  LOCKSTEP_CHECK(output.size() == 3 && sums.size() == 3 && output[0] == sums[0] &&
                     output[1] == sums[2] && output[2] % sums[1] == 0,
                 "merge_attention: outputs ", text_of(output), " and log sums ", text_of(sums),
                 ", expected [batch, tokens, width] and [batch, heads, tokens]");
  into.output.device().kernels().merge_attention(block.output, block.log_sums, into.output,
                                                 into.log_sums);
  charge(into.output, 3, 3);
}

}  // namespace lockstep::ops
