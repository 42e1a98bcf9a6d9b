// Numbers are mixed by the counter-based stream, the only hash the house needs.
#include "engine/comm/gloo_call.hpp"

#include <string_view>

#include "engine/base/random.hpp"

namespace lockstep::comm {

std::string text_of(const Call& call) {
  const std::string data = text(call.count, " ", name_of(call.dtype));
  switch (call.verb) {
    case Verb::broadcast:
      return text("collective no. ", call.number, ", broadcast from rank ", call.peer, " of ",
                  data);
    case Verb::all_reduce:
      return text("collective no. ", call.number, ", all_reduce (", name_of(call.op), ") of ",
                  data);
    case Verb::all_gather:
      return text("collective no. ", call.number, ", all_gather of ", data);
    case Verb::barrier:
      return text("collective no. ", call.number, ", barrier");
    case Verb::send:
      return text("send to rank ", call.peer, " (tag ", call.tag, ") of ", data);
    case Verb::recv:
      break;
  }
  return text("recv from rank ", call.peer, " (tag ", call.tag, ") of ", data);
}

std::string place_of(const Call& call) {
  std::string_view path(call.where.file_name());
  for (std::string_view root : {"work/", "solutions/", "exercises/", "engine/", "tests/"}) {
    if (const auto at = path.rfind(root); at != std::string_view::npos) path.remove_prefix(at);
  }
  return text(path, ":", call.where.line());
}

std::uint32_t tag_of(const Call& call) {
  const auto kind =
      static_cast<std::uint64_t>(call.verb) | static_cast<std::uint64_t>(call.dtype) << 8 |
      static_cast<std::uint64_t>(call.op) << 16 | static_cast<std::uint64_t>(call.peer) << 24;
  const auto mixed =
      random_bits(random_bits(call.number, kind), static_cast<std::uint64_t>(call.count));
  return static_cast<std::uint32_t>(mixed);
}

std::uint64_t slot_of(const Call& call, int src, int dst) {
  // Gloo's own collectives use the prefixes 1 to 8 in the highest byte; messages use 64 and 65.
  const std::uint64_t prefix = src < dst ? 64 : 65;
  const auto kind = static_cast<std::uint64_t>(call.tag) | static_cast<std::uint64_t>(call.dtype)
                                                               << 32;
  return prefix << 56 | random_bits(kind, static_cast<std::uint64_t>(call.count)) >> 8;
}

}  // namespace lockstep::comm
