#include "engine/nn/key_value_cache.hpp"

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::nn {

Tensor KeyValueCache::extend(const Module& layer, const Tensor& keys_values) {
  const std::int64_t count = keys_values.size(1), columns = keys_values.size(2);
  LOCKSTEP_CHECK(keys_values.size(0) == 1 && tokens + count <= room, "a cache of keys and values ",
                 "that has room for ", room, " tokens of one sample and holds ", tokens,
                 " is given those of ", text_of(keys_values.shape()));
  Tensor& held = layers[&layer];
  if (!held.defined()) held = empty({room, columns}, keys_values.dtype(), keys_values.device());
  held.narrow(tokens, count).copy_(keys_values.view({count, columns}));
  return held.narrow(0, tokens + count).view({1, tokens + count, columns});
}

Value cached_attention(Tape& tape, KeyValueCache& cache, const Module& layer, const Value& qkv,
                       std::int64_t heads) {
  const bool for_inference = tape.mode() == GradMode::inference;
  LOCKSTEP_CHECK(for_inference,
                 "attention with a cache of keys and values has no gradient for what the cache "
                 "holds; take a tape for inference, or prepare the model without a cache");
  const std::int64_t tokens = qkv.tensor.size(1), width = qkv.tensor.size(2) / 3;
  const Value queries = autograd::narrow(tape, qkv, 2, 0, width);
  const Tensor all = cache.extend(layer, ops::narrow(qkv.tensor, 2, width, 2 * width));
  const ops::AttentionOptions options{heads, {{cache.tokens, tokens}}, {{0, all.size(1)}}};
  return autograd::attention(tape, queries, tape.constant(all), options);
}

}  // namespace lockstep::nn
