// The other end of process_host: what runs inside a player process. Untrusted; links student code.
#pragma once

#include <functional>

#include "engine/base/bytes.hpp"
#include "engine/sim/request.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::sim {

// What one case gives the part's adapter.
struct PlayerCase {
  Port& port;
  Strands& strands;  // baton strands: one runs at a time, all blocked = the core may act
  int rank;
  int ranks;
  ByteReader input;
};

// Serves cases from fd 3 until the host closes it; returns the process's exit code. `part` returns
// the result of one case. An exception that leaves `part` is reported by kind: NotImplemented →
// unsolved, std::bad_alloc → memory, anything else → crash with its text.
int serve_cases(const std::function<Bytes(PlayerCase&)>& part);

}  // namespace lockstep::sim
