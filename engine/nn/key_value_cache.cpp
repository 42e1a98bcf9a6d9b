#include "engine/nn/key_value_cache.hpp"

#include "engine/base/error.hpp"

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

}  // namespace lockstep::nn
