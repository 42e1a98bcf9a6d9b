#include "engine/comm/worlds/ordered_calls.hpp"

#include "engine/sim/wire/printable.hpp"

namespace lockstep::comm {
namespace {

std::string at_place(const Where& where) {
  return " at " + sim::place_of(where.file_name(), static_cast<int>(where.line()));
}

}  // namespace

std::string text_of(const Call& call, int size) {
  return text("collective no. ", call.number, ", ", text_of(call.collective, size),
              at_place(call.where));
}

std::string text_of(const MessageCall& call, const RankNames& names) {
  std::string peer = text("rank ", call.peer, " (");
  if (const std::string global = names.global_name(call.peer); !global.empty()) {
    peer += global + ", ";
  }
  return text(call.verb == Verb::send ? "send to " : "recv from ", peer, "tag ", call.tag, ") of ",
              call.count, " ", name_of(call.dtype), at_place(call.where));
}

}  // namespace lockstep::comm
