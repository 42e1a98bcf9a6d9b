// Numbers are mixed by the counter-based stream, the only hash the house needs.
#include "engine/comm/worlds/tcp/gloo_agreement.hpp"

#include "engine/base/random.hpp"

namespace lockstep::comm {

std::uint64_t agreement_of(const Call& call, int size) {
  const Collective& c = call.collective;
  const auto kind =
      static_cast<std::uint64_t>(c.kind) | static_cast<std::uint64_t>(c.dtype()) << 8 |
      static_cast<std::uint64_t>(c.op) << 16 | static_cast<std::uint64_t>(c.root + 1) << 24;
  std::uint64_t mixed =
      random_bits(random_bits(call.number, kind), static_cast<std::uint64_t>(c.count(size)));
  if (c.kind == CollectiveKind::all_gather && !c.output_counts.empty()) {
    mixed = random_bits(call.number, kind);  // the counts say more than this rank's share
    for (const std::int64_t count : c.output_counts) {
      mixed = random_bits(mixed, static_cast<std::uint64_t>(count));
    }
  }
  return mixed;
}

std::uint32_t tag_of(const Call& call, int size) {
  return static_cast<std::uint32_t>(agreement_of(call, size));
}

std::uint32_t check_tag_of(const Call& call) {
  return static_cast<std::uint32_t>(random_bits(call.number, ~std::uint64_t{0}));
}

std::uint64_t slot_of(const MessageCall& call, int src, int dst) {
  // Gloo's own collectives use the prefixes 1 to 8 in the highest byte; messages use 64 and 65.
  const std::uint64_t prefix = src < dst ? 64 : 65;
  const auto kind = static_cast<std::uint64_t>(call.tag) | static_cast<std::uint64_t>(call.dtype)
                                                               << 32;
  return prefix << 56 | random_bits(kind, static_cast<std::uint64_t>(call.count)) >> 8;
}

}  // namespace lockstep::comm
