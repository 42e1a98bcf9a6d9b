// Plays average_gradients: parameters whose gradients the judge made, allocated in an order that
// differs from rank to rank.
#include "grader/players/average_gradients.hpp"

#include <cstring>

#include "engine/base/random.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "grader/players/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const GradientCase c = decode_gradient_case(played.input);
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  const auto count = static_cast<std::int64_t>(c.sizes.size());
  std::vector<std::unique_ptr<Parameter>> owned(c.sizes.size());
  for (std::int64_t at : random_permutation(count, c.allocation_seed)) {
    const auto i = static_cast<std::size_t>(at);
    owned[i] = std::make_unique<Parameter>();
    owned[i]->name = text("parameter ", i);
    // Weights have two dimensions, biases one: here what can be divided into eight rows has two.
    Shape shape{c.sizes[i]};
    if (c.sizes[i] % 8 == 0) shape = {8, c.sizes[i] / 8};
    owned[i]->value = full(shape, 1.0, c.dtype, device, MemoryKind::parameters);
    if (!c.has_grad[i]) continue;
    owned[i]->grad = empty(shape, c.dtype, device, MemoryKind::gradients);
    if (!c.grads[i].empty()) {
      std::memcpy(owned[i]->grad.raw_bytes().data(), c.grads[i].data(), c.grads[i].size());
    }
  }
  std::vector<Parameter*> parameters;
  for (const auto& parameter : owned) parameters.push_back(parameter.get());
  data_parallel::average_gradients(*group, parameters);
  for (const Parameter* parameter : parameters) {
    out.put(static_cast<std::uint8_t>(parameter->grad.defined()));
    out.put_bytes(parameter->grad.defined() ? parameter->grad.raw_bytes() : std::span<std::byte>{});
    out.put_bytes(parameter->value.raw_bytes());
  }
  return out.take();
}

}  // namespace lockstep::grader
