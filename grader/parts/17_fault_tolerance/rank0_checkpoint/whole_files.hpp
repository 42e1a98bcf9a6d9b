// The first function of rank0_checkpoint, which writes a file whole or not at all: whatever lies
// there, and whatever the storage does meanwhile.
#pragma once

#include <string>

#include "grader/exam/lives/script.hpp"

namespace lockstep::grader::rank0_checkpoint {

struct WholeFile {
  std::string old, now;  // content; old: none when it is empty
  LifeEnd end{};
  std::string what{};  // the storage does; as the description goes on
};

// Plays one case of it and demands the new file, or the older one where the storage did something.
void judge(CaseRunner& runner, const WholeFile& p);

}  // namespace lockstep::grader::rank0_checkpoint
