// The other end of process_host: what runs inside a player process. Untrusted; links student code.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/sim/wire/request.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::sim {

// The arguments of one case for the part's adapter.
struct PlayerCase {
  Port& port;
  Strands& strands;  // baton strands: one runs at a time, all blocked = the core may act
  int rank;
  int ranks;
  ByteReader input;
  // Set by an adapter whose part threw because a peer was lost: the rank goes on no more, its
  // result counts, and those who wait for it are told so with this reason.
  std::string gave_up{};
};

// Serves cases from fd 3 until the host closes it; returns the process's exit code. `part` returns
// the result of one case. An exception that leaves `part` is reported by kind: NotImplemented →
// unsolved, std::bad_alloc and OutOfMemory → memory, anything else → crash with its text.
//   thrown_at    gives the calls that led to the throw of an exception; nullptr: nobody knows them
//   take_caught  gives what `part` has caught since the last call and not thrown; likewise
int serve_cases(const std::function<Bytes(PlayerCase&)>& part,
                std::vector<std::uint64_t> (*thrown_at)(const std::exception&) = nullptr,
                std::string (*take_caught)() = nullptr);

}  // namespace lockstep::sim
