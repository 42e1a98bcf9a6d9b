// Numbers are mixed by the counter-based stream, the only hash the house needs.
#include "engine/comm/gloo_call.hpp"

#include <string_view>

#include "engine/base/random.hpp"

namespace lockstep::comm {

std::string text_of(const Call& call, int size) {
  if (call.verb == Verb::collective) {
    return text("collective no. ", call.number, ", ", text_of(call.collective, size));
  }
  return text(call.verb == Verb::send ? "send to rank " : "recv from rank ", call.peer, " (tag ",
              call.tag, ") of ", call.count, " ", name_of(call.dtype));
}

std::string place_of(const Call& call) {
  std::string_view path(call.where.file_name());
  for (std::string_view root : {"work/", "solutions/", "exercises/", "engine/", "tests/"}) {
    if (const auto at = path.rfind(root); at != std::string_view::npos) path.remove_prefix(at);
  }
  return text(path, ":", call.where.line());
}

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

std::uint64_t slot_of(const Call& call, int src, int dst) {
  // Gloo's own collectives use the prefixes 1 to 8 in the highest byte; messages use 64 and 65.
  const std::uint64_t prefix = src < dst ? 64 : 65;
  const auto kind = static_cast<std::uint64_t>(call.tag) | static_cast<std::uint64_t>(call.dtype)
                                                               << 32;
  return prefix << 56 | random_bits(kind, static_cast<std::uint64_t>(call.count)) >> 8;
}

}  // namespace lockstep::comm
