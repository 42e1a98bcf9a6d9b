#include "engine/comm/worlds/nccl/call_fingerprint.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/base/random.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::comm {
namespace {

void put_place(CallFingerprint& call, const Where& where) {
  std::string_view file(where.file_name());
  const std::size_t room = sizeof call.file - 1;
  if (file.size() > room) file.remove_prefix(file.size() - room);
  std::memcpy(call.file, file.data(), file.size());
  call.line = static_cast<std::int32_t>(where.line());
}

std::string at_place_of(const CallFingerprint& call) {
  return " at " + sim::place_of(call.file, call.line);
}

bool agree(const CallFingerprint& a, const CallFingerprint& b) {
  return a.number == b.number && a.kind == b.kind && a.op == b.op && a.dtype == b.dtype &&
         a.root == b.root && a.count == b.count && a.unequal == b.unequal && a.counts == b.counts &&
         a.on_host == b.on_host;
}

bool has_tensors(const CallFingerprint& call) {
  return static_cast<CollectiveKind>(call.kind) != CollectiveKind::barrier;
}

}  // namespace

CallFingerprint fingerprint_of(const Call& call, int size) {
  const Collective& c = call.collective;
  CallFingerprint made;
  made.number = call.number;
  made.count = c.count(size);
  made.root = c.root;
  made.kind = static_cast<std::uint8_t>(c.kind);
  made.op = static_cast<std::uint8_t>(c.op);
  made.dtype = static_cast<std::uint8_t>(c.dtype());
  made.unequal = c.output_counts.empty() ? 0 : 1;
  if (made.unequal != 0 && c.kind == CollectiveKind::all_gather) {
    made.count = 0;  // a rank's own share, which differs
    for (const std::int64_t count : c.output_counts) {
      made.counts = random_bits(made.counts, static_cast<std::uint64_t>(count));
    }
  }
  put_place(made, call.where);
  return made;
}

CallFingerprint fingerprint_of(const MessageCall& call, std::uint64_t number) {
  CallFingerprint made;
  made.number = number;
  made.count = call.count;
  made.dtype = static_cast<std::uint8_t>(call.dtype);
  made.tag = call.tag;
  put_place(made, call.where);
  return made;
}

std::string text_of(const CallFingerprint& call) {
  const auto kind = static_cast<CollectiveKind>(call.kind);
  const auto dtype = static_cast<DType>(call.dtype);
  const Outline outline{kind, static_cast<ReduceOp>(call.op), call.root, dtype, call.count, {}};
  return text("collective no. ", call.number, ", ",
              call.unequal == 0 ? text_of(outline)
                                : text(sim::name_of(kind), " of unequal parts, ", name_of(dtype)),
              call.on_host != 0 && has_tensors(call) ? " on the host" : "", at_place_of(call));
}

std::string disagreement(const std::vector<CallFingerprint>& of_ranks, const RankNames& names) {
  std::size_t other = 0;
  while (other < of_ranks.size() && agree(of_ranks.front(), of_ranks[other])) ++other;
  if (other == of_ranks.size()) return {};
  std::string calls = "the ranks call different things: ";
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    calls += text(rank == 0 ? "" : "; ", names.name(static_cast<int>(rank)), " calls ",
                  text_of(of_ranks[rank]));
  }
  const auto is_on = [](std::uint8_t host) {
    return
        [host](const CallFingerprint& call) { return call.on_host == host && has_tensors(call); };
  };
  if (std::ranges::any_of(of_ranks, is_on(0)) && std::ranges::any_of(of_ranks, is_on(1))) {
    calls += "; bring the tensors of all ranks to their GPUs with to_device, or all to the host";
  }
  return calls;
}

std::string disagreement(const std::vector<std::int64_t>& sent,
                         const std::vector<std::int64_t>& expected, int me,
                         const RankNames& names) {
  for (std::size_t src = 0; src < sent.size(); ++src) {
    if (sent[src] == expected[src]) continue;
    return text("the ranks call different things: ", names.name(static_cast<int>(src)), " sends ",
                sent[src], " elements to ", names.name(me), ", which expects ", expected[src]);
  }
  return {};
}

std::string mismatch(const CallFingerprint& sent, const CallFingerprint& received, int src, int dst,
                     const RankNames& names) {
  const bool fits = sent.count == received.count && sent.dtype == received.dtype;
  if (fits && sent.tag == received.tag) return {};
  const auto side = [](const CallFingerprint& call) {
    return text(call.count, " ", name_of(static_cast<DType>(call.dtype)), " with tag ", call.tag,
                at_place_of(call));
  };
  return text("message no. ", sent.number, " from ", names.name(src), " to ", names.name(dst),
              ": sent are ", side(sent), ", expected are ", side(received), "; ",
              fits ? "NCCL knows no tags, so a pair's messages meet in the order of the calls"
                   : "both sides need the same count and type");
}

}  // namespace lockstep::comm
