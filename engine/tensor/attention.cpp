#include "engine/tensor/attention.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

struct Sizes {
  std::int64_t batch, tokens, heads, head_size, width;  // B, T, H, D, C
};

Sizes sizes_of(const Tensor& qkv, std::int64_t heads) {
  check_float("causal_attention", qkv);
  LOCKSTEP_CHECK(qkv.shape().size() == 3, "causal_attention: qkv has shape ", text_of(qkv.shape()),
                 ", expected [batch, tokens, 3 · width]");
  const std::int64_t packed = qkv.size(2);
  LOCKSTEP_CHECK(heads >= 1 && packed % (3 * heads) == 0, "causal_attention: ", packed,
                 " columns of queries, keys and values do not divide among ", heads,
                 " heads; the width must be a multiple of the number of heads");
  const std::int64_t width = packed / 3;
  return {qkv.size(0), qkv.size(1), heads, width / heads, width};
}

// Half of T² scores, of 2·D FLOPs in each of `products`, and some twenty more for the exponential.
double flops(const Sizes& s, int products) {
  return static_cast<double>(s.batch * s.heads) * static_cast<double>(s.tokens) *
         static_cast<double>(s.tokens) / 2 *
         (2.0 * products * static_cast<double>(s.head_size) + 20);
}

}  // namespace

Attention causal_attention(const Tensor& qkv, std::int64_t heads) {
  const Sizes s = sizes_of(qkv, heads);
  Attention out{result(qkv, {s.batch, s.tokens, s.width}),
                statistic(qkv, {s.batch, heads, s.tokens})};
  qkv.device().kernels().causal_attention(qkv, heads, out.output, out.log_sums);
  qkv.device().charge(flops(s, 2), static_cast<double>(qkv.bytes() + out.output.bytes()));
  return out;
}

Tensor causal_attention_backward(const Tensor& grad, const Tensor& qkv, const Attention& forward,
                                 std::int64_t heads) {
  const Sizes s = sizes_of(qkv, heads);
  check_same("causal_attention_backward", grad, forward.output);
  LOCKSTEP_CHECK(grad.shape() == Shape({s.batch, s.tokens, s.width}) &&
                     forward.log_sums.shape() == Shape({s.batch, heads, s.tokens}),
                 "causal_attention_backward: the output ", text_of(grad.shape()), " and log sums ",
                 text_of(forward.log_sums.shape()), " are not of qkv ", text_of(qkv.shape()),
                 " with ", heads, " heads");
  Tensor out = result(qkv, qkv.shape());
  qkv.device().kernels().causal_attention_backward(grad, qkv, forward.output, forward.log_sums,
                                                   heads, out);
  qkv.device().charge(0, static_cast<double>(out.bytes()));  // begins at zero
  qkv.device().charge(flops(s, 5), 3.0 * static_cast<double>(qkv.bytes()));
  return out;
}

}  // namespace lockstep::ops
