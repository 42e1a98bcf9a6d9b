#include "engine/train/strategies/zero_memory.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::train {
namespace {

// The groups of rank 0.
struct RankGroups {
  RankGroups(const ZeroOptions& options, int ranks)
      : shards(options.sharding.sharding == zero::Sharding::no_shard ? 1
               : options.shard_ranks > 0                             ? options.shard_ranks
                                                                     : ranks),
        copies(ranks / shards.size()) {}
  zero::ShardGroups both() { return {shards, copies.size() > 1 ? &copies : nullptr}; }

  Unheard shards, copies;
};

void take_step(zero::ShardedModel& units, const data::Batch& batch, std::int64_t batches,
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

// The part of a rank's memory that no number of ranks makes smaller, where units are gathered.
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

std::string text_of(const MemoryPeaks& most, MemoryKind kind) {
  return bytes_text(most.bytes[static_cast<std::size_t>(kind)]);
}

// A host keeps what does not depend on the batch.
void check_host(const ZeroOptions& options, const Recipe& recipe, int ranks,
                const MemoryPeaks& most, const DeviceRoom& room) {
  if (options.sharding.offload == zero::Offload::nothing) return;
  if (!room.host_bytes) {
    throw UsageError(
        "--offload keeps state in the memory of the nodes' hosts, of which this cluster says "
        "nothing; give its file a section [host], or pass another --cluster");
  }
  if (most.peak <= room.host_bytes(ranks)) return;
  std::string advice = "more --ranks do not help, since each needs as much";
  for (int more = 2 * ranks; more <= 1 << 16; more *= 2) {
    if (memory_of_rank(options, recipe, more, 1, 1).host.peak > room.host_bytes(more)) continue;
    advice = text("with --ranks ", more, " it fits");
    break;
  }
  throw UsageError(text("the state that --offload takes to the host does not fit there: a rank's ",
                        "share of the host has ", bytes_text(room.host_bytes(ranks)), " and needs ",
                        bytes_text(most.peak), "; parameters ",
                        text_of(most, MemoryKind::parameters), ", gradients ",
                        text_of(most, MemoryKind::gradients), ", optimizer state ",
                        text_of(most, MemoryKind::optimizer_state), "\n", advice));
}

}  // namespace

ShardedMemory memory_of_rank(const ZeroOptions& options, const Recipe& recipe, int ranks,
                             std::int64_t rows, std::int64_t batches) {
  SymbolicDevice device, host;
  RankGroups groups(options, ranks);
  const bool offloads = options.sharding.offload != zero::Offload::nothing;
  const auto link = offloads ? zero::make_host_link({host}, nullptr, groups.shards) : nullptr;
  const auto units = make_sharded_model(recipe, device, groups.both(), options, link.get());
  const auto optimizer = units->make_optimizer(recipe.optimizer);
  const data::Batch batch = batch_of(recipe.model, rows, device);
  // The optimizer makes its state in the first step, so the second one has the peak.
  for (int step = 0; step < 2; ++step) {
    units->zero_grad();
    take_step(*units, batch, batches, options.accumulate);
    units->update(*optimizer, [] { return optim::Overflow::no; });
  }
  return {peaks_of(device), peaks_of(host)};
}

HostTraffic copies_of_step(const ZeroOptions& options, const nn::ModelSpec& model, int ranks,
                           std::int64_t batches) {
  SymbolicDevice device, host;
  RankGroups groups(options, ranks);
  const auto link = zero::make_host_link({host}, nullptr, groups.shards);
  const zero::ShardedUnits units(model, 0, device, groups.both(), options.sharding, link.get());
  const auto [down, up] = units.copies_planned();
  const std::int64_t reductions = options.accumulate == AccumulateIn::shards ? batches : 1;
  const bool gathers = options.sharding.offload == zero::Offload::all;
  return {reductions * down, (gathers ? batches : 1) * up};
}

void check_memory(const ZeroOptions& options, const Recipe& recipe, int ranks,
                  std::span<const std::int64_t> sizes, std::int64_t batches,
                  const DeviceRoom& room) {
  ShardedMemory most;
  for (const std::int64_t rows : sizes) {
    const ShardedMemory seen = memory_of_rank(options, recipe, ranks, rows, batches);
    if (seen.peak > most.peak) most = seen;
  }
  check_host(options, recipe, ranks, most.host, room);
  if (most.peak <= room.bytes) return;
  const auto of = [&](MemoryKind kind) { return text_of(most, kind); };
  throw UsageError(text("the sharded model does not fit: a rank's ", room.name, " has ",
                        bytes_text(room.bytes), " and needs ", bytes_text(most.peak), ", ",
                        bytes_text(most.peak - room.bytes), " more; parameters up to ",
                        of(MemoryKind::parameters), ", gradients up to ", of(MemoryKind::gradients),
                        ", optimizer state ", of(MemoryKind::optimizer_state),
                        ", activations up to ", of(MemoryKind::activations),
                        told_of_largest_unit(options.sharding, recipe.model),
                        "\n--fsdp full_shard shards all but the last; --offload takes state to the "
                        "host's memory; ",
                        "--recompute computes activations again, --prefetch 0 gathers nothing "
                        "ahead, and more --ranks have smaller shards"));
}

}  // namespace lockstep::train
