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

std::string text_of(const MessageCall& call) {
  return text(call.verb == Verb::send ? "send to rank " : "recv from rank ", call.peer, " (tag ",
              call.tag, ") of ", call.count, " ", name_of(call.dtype), at_place(call.where));
}

}  // namespace lockstep::comm
