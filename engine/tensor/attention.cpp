#include "engine/tensor/attention.hpp"

#include <algorithm>

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

struct Sizes {
  std::int64_t batch, queries, keys, head_size, width;  // B, Tq, Tk, D, C
};

void check_positions(const char* operation, const char* what, const Positions& positions,
                     std::int64_t tokens) {
  const auto& [early, late] = positions;
  LOCKSTEP_CHECK(early.count >= 0 && late.count >= 0 && positions.count() == tokens, operation,
                 ": ", early.count, " + ", late.count, " positions for ", tokens, " ", what,
                 "; each token has one");
  LOCKSTEP_CHECK(late.count == 0 || late.first >= early.end(), operation, ": the positions of the ",
                 what, " go up to ", early.end() - 1, ", and on from ", late.first,
                 "; they must increase");
}

Sizes sizes_of(const char* operation, const Tensor& queries, const Tensor& keys_values,
               const AttentionOptions& options) {
  check_float(operation, queries);
  check_together(operation, queries, keys_values);
  LOCKSTEP_CHECK(
      queries.shape().size() == 3 && keys_values.shape().size() == 3 &&
          keys_values.size(0) == queries.size(0) && keys_values.size(2) == 2 * queries.size(2) &&
          keys_values.dtype() == queries.dtype(),
      operation, ": queries are ", name_of(queries.dtype()), " ", text_of(queries.shape()),
      " and keys and values ", name_of(keys_values.dtype()), " ", text_of(keys_values.shape()),
      "; expected [batch, queries, width] and [batch, keys, 2 · width] of one dtype");
  const std::int64_t width = queries.size(2);
  LOCKSTEP_CHECK(options.heads >= 1 && width % options.heads == 0, operation, ": ", options.heads,
                 " heads do not divide the width ", width);
  check_positions(operation, "queries", options.queries, queries.size(1));
  check_positions(operation, "keys", options.keys, keys_values.size(1));
  return {queries.size(0), queries.size(1), keys_values.size(1), width / options.heads, width};
}

Sizes sizes_of_packed(const Tensor& qkv, std::int64_t heads) {
  check_float("causal_attention", qkv);
  LOCKSTEP_CHECK(qkv.shape().size() == 3, "causal_attention: qkv has shape ", text_of(qkv.shape()),
                 ", expected [batch, tokens, 3 · width]");
  const std::int64_t packed = qkv.size(2);
  LOCKSTEP_CHECK(heads >= 1 && packed % (3 * heads) == 0, "causal_attention: ", packed,
                 " columns of queries, keys and values do not divide among ", heads,
                 " heads; the width must be a multiple of the number of heads");
  const std::int64_t width = packed / 3;
  return {qkv.size(0), qkv.size(1), qkv.size(1), width / heads, width};
}

AttentionOptions causal(const Sizes& s, std::int64_t heads) {
  return {heads, {{0, s.queries}}, {{0, s.keys}}};
}

void check_whole(const char* operation, const Tensor& grad, const Tensor& queries,
                 const Attention& whole, const Sizes& s, std::int64_t heads) {
  check_same(operation, grad, whole.output);
  check_together(operation, queries, grad);
  LOCKSTEP_CHECK(grad.shape() == Shape({s.batch, s.queries, s.width}) &&
                     grad.dtype() == queries.dtype() &&
                     whole.log_sums.shape() == Shape({s.batch, heads, s.queries}) &&
                     whole.log_sums.dtype() == statistic_of(queries.dtype()),
                 operation, ": the output ", name_of(grad.dtype()), " ", text_of(grad.shape()),
                 " and log-sums ", name_of(whole.log_sums.dtype()), " ",
                 text_of(whole.log_sums.shape()), " are not of queries ", name_of(queries.dtype()),
                 " ", text_of(queries.shape()), " with ", heads, " heads");
}

// Positions that are in both.
std::int64_t shared(const TokenRange& a, const TokenRange& b) {
  return std::max<std::int64_t>(std::min(a.end(), b.end()) - std::max(a.first, b.first), 0);
}
std::int64_t shared(const Positions& a, const Positions& b) {
  return shared(a.early, b.early) + shared(a.early, b.late) + shared(a.late, b.early) +
         shared(a.late, b.late);
}

// A pair costs 2·D FLOPs in each of `products`, and some twenty more for the exponential.
void charge_pairs(Device& device, const Sizes& s, const AttentionOptions& of, int products,
                  std::size_t bytes) {
  const auto pairs = static_cast<double>(pairs_seen(of.queries, of.keys));
  if (pairs == 0) return;
  const double counted = pairs - static_cast<double>(shared(of.queries, of.keys)) / 2;
  device.charge(static_cast<double>(s.batch * of.heads) * counted *
                    (2.0 * products * static_cast<double>(s.head_size) + 20),
                static_cast<double>(bytes));
}

}  // namespace

Attention attention(const Tensor& queries, const Tensor& keys_values,
                    const AttentionOptions& options) {
  const Sizes s = sizes_of("attention", queries, keys_values, options);
  Attention out{result(queries, queries.shape()),
                statistic(queries, {s.batch, options.heads, s.queries})};
  Device& device = queries.device();
  device.kernels().attention(queries, keys_values, options, out.output, out.log_sums);
  charge_pairs(device, s, options, 2, queries.bytes() + keys_values.bytes() + out.output.bytes());
  return out;
}

AttentionGradients attention_backward(const Tensor& grad, const Tensor& queries,
                                      const Tensor& keys_values, const Attention& whole,
                                      const AttentionOptions& options) {
  const Sizes s = sizes_of("attention_backward", queries, keys_values, options);
  check_whole("attention_backward", grad, queries, whole, s, options.heads);
  AttentionGradients out{result(queries, queries.shape()),
                         result(keys_values, keys_values.shape())};
  Device& device = queries.device();
  device.kernels().attention_backward(grad, queries, keys_values, whole.output, whole.log_sums,
                                      options, out.queries, out.keys_values);
  charge_pairs(device, s, options, 5, 4 * (queries.bytes() + keys_values.bytes()));
  return out;
}

Attention causal_attention(const Tensor& qkv, std::int64_t heads) {
  const Sizes s = sizes_of_packed(qkv, heads);
  const AttentionOptions options = causal(s, heads);
  Attention out{result(qkv, {s.batch, s.queries, s.width}),
                statistic(qkv, {s.batch, heads, s.queries})};
  qkv.device().kernels().attention(qkv, {}, options, out.output, out.log_sums);
  charge_pairs(qkv.device(), s, options, 2, qkv.bytes() + out.output.bytes());
  return out;
}

Tensor causal_attention_backward(const Tensor& grad, const Tensor& qkv, const Attention& forward,
                                 std::int64_t heads) {
  const Sizes s = sizes_of_packed(qkv, heads);
  check_whole("causal_attention_backward", grad, qkv, forward, s, heads);
  const AttentionOptions options = causal(s, heads);
  Tensor out = result(qkv, qkv.shape());
  const Tensor none;
  qkv.device().kernels().attention_backward(grad, qkv, none, forward.output, forward.log_sums,
                                            options, out, none);
  qkv.device().charge(0, static_cast<double>(out.bytes()));  // begins at zero
  charge_pairs(qkv.device(), s, options, 5, 3 * qkv.bytes());
  return out;
}

}  // namespace lockstep::ops
