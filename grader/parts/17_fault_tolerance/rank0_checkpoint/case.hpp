// The case format of rank0_checkpoint, shared by adapter and exam: a file that is written whole, or
// a rank's acts in one life of a run.
#pragma once

#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"
#include "grader/play/saved_state.hpp"
#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

// A rank that writes a file reports an Ending, one that takes acts a LifeReport.
struct Rank0Case {
  std::string file{};  // empty: the acts of `life`
  std::string content{};
  Peer peer = Peer::stays;
  LifeCase life{};
};
template <typename Archive>
void fields(Archive& archive, Rank0Case& c) {
  archive(c.file, c.content, c.peer, c.life);
}

}  // namespace lockstep::grader
