// The talk of ranks that save together: each tells a text, and all learn whether one has failed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::checkpoint {

// Each rank's text, by rank, of any length.
//   Comm  two all-gathers: the lengths, and the letters
std::vector<std::string> gather_texts(comm::ProcessGroup& group, const std::string& mine);

// Each rank does its work, and all learn what came of it: what each returned, by rank. No rank
// returns before every rank has done its work.
//   Comm    as gather_texts
//   Throws  CheckpointError on every rank, when it was thrown on one: with the name of the first
//           such rank and with its sentence. What else a rank throws, it throws alone
std::vector<std::string> agree(comm::ProcessGroup& group, const std::function<std::string()>& work);

// Does `act`. When a peer is lost in it, the error says what this rank did: "checkpoint: rank 1
// was saving step 6: …".
void telling(const comm::ProcessGroup& group, const std::string& doing,
             const std::function<void()>& act);

// A draft as such a text, and back: "step_000500 0".
std::string line_of(const Draft& draft);
Draft draft_of(const std::string& line);

}  // namespace lockstep::checkpoint
