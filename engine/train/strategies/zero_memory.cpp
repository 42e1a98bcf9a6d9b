#include "engine/train/strategies/zero_memory.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/tensor/symbolic.hpp"
#include "engine/train/strategies/unheard_group.hpp"

namespace lockstep::train {
namespace {

data::Batch batch_of(const nn::ModelSpec& spec, std::int64_t rows, Device& device) {
  if (spec.kind == nn::ModelKind::gpt) {
    const Shape tokens{rows, spec.gpt.sequence};
    return {empty(tokens, DType::int64, device), empty(tokens, DType::int64, device)};
  }
  return {empty({rows, spec.widths.front()}, spec.dtype, device),
          empty({rows}, DType::int64, device)};
}

void take_step(zero::ShardedUnits& units, const data::Batch& batch, std::int64_t batches,
               AccumulateIn accumulate) {
  for (std::int64_t k = 0; k < batches; ++k) {
    const bool reduces = k + 1 == batches || accumulate == AccumulateIn::shards;
    units.begin(reduces ? zero::Reduces::yes : zero::Reduces::no);
    units.model().prepare({.mode = nn::Mode::training});
    Tape tape(GradMode::record);
    const Value logits = units.model().forward(tape, tape.constant(batch.inputs));
    tape.backward(autograd::cross_entropy(tape, logits, batch.labels));
    units.end_backward();
  }
}

// Where units are gathered, what no number of ranks makes smaller.
std::string told_of_largest_unit(const zero::ShardingOptions& options, const nn::ModelSpec& spec) {
  if (options.sharding != zero::Sharding::full_shard) return "";
  SymbolicDevice nowhere;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
    largest = std::max(largest, nn::count_of(*nn::make_units(spec, nowhere, 0, {i, 1})));
  }
  const std::string bytes = bytes_text(largest * static_cast<std::int64_t>(bytes_of(spec.dtype)));
  return text("; the largest unit is gathered whole, ", bytes, " of parameters and ", bytes,
              " of gradients, however many --ranks there are");
}

}  // namespace

ShardedMemory memory_of_rank(const ZeroOptions& options, const Recipe& recipe, int ranks,
                             std::int64_t rows, std::int64_t batches) {
  SymbolicDevice device;
  const bool none = options.sharding.sharding == zero::Sharding::no_shard;
  const int k = none ? 1 : options.shard_ranks > 0 ? options.shard_ranks : ranks;
  Unheard shards(k), copies(ranks / k);
  zero::ShardedUnits units(recipe.model, recipe.seed, device,
                           {shards, copies.size() > 1 ? &copies : nullptr}, options.sharding);
  const auto optimizer = optim::make_optimizer(recipe.optimizer, units.shards());
  const data::Batch batch = batch_of(recipe.model, rows, device);
  // The optimizer makes its state in the first step, so the second one has the peak.
  for (int step = 0; step < 2; ++step) {
    units.zero_grad();
    take_step(units, batch, batches, options.accumulate);
    optimizer->step();
    units.end_update();
  }
  ShardedMemory seen;
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    seen.bytes[i] = device.bytes_peak(static_cast<MemoryKind>(i));
  }
  seen.peak = device.bytes_peak();
  return seen;
}

void check_memory(const ZeroOptions& options, const Recipe& recipe, int ranks,
                  std::span<const std::int64_t> sizes, std::int64_t batches,
                  const DeviceRoom& room) {
  ShardedMemory most;
  for (const std::int64_t rows : sizes) {
    const ShardedMemory seen = memory_of_rank(options, recipe, ranks, rows, batches);
    if (seen.peak > most.peak) most = seen;
  }
  if (most.peak <= room.bytes) return;
  const auto of = [&](MemoryKind kind) {
    return bytes_text(most.bytes[static_cast<std::size_t>(kind)]);
  };
  throw UsageError(text("the sharded model does not fit: a rank's ", room.name, " has ",
                        bytes_text(room.bytes), " and needs ", bytes_text(most.peak), ", ",
                        bytes_text(most.peak - room.bytes), " more; parameters up to ",
                        of(MemoryKind::parameters), ", gradients up to ", of(MemoryKind::gradients),
                        ", optimizer state ", of(MemoryKind::optimizer_state),
                        ", activations up to ", of(MemoryKind::activations),
                        told_of_largest_unit(options.sharding, recipe.model),
                        "\n--fsdp full_shard shards all but the last; ",
                        "--recompute computes activations again, --prefetch 0 gathers nothing "
                        "ahead, and more --ranks have smaller shards"));
}

}  // namespace lockstep::train
