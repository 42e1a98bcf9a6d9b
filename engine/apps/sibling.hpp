// The trainers: programs that differ in the ways to train they are linked with. `train` stands for
// all of them, and becomes the one that a run needs.
#pragma once

#include "engine/apps/train_command_line.hpp"

namespace lockstep::apps {

// The program that the run needs in place of this one; `train` where this one will do.
Trainer trainer_in_place_of_this(const Arguments& arguments);

// Becomes that program, which lies beside this one, with the same words; returns where this one
// will do.
//   Throws  UsageError, with what to type, when it is not built, or is older than this one: then it
//           was not built again when the engine changed
void become_trainer(const Arguments& arguments, const char* const* argv);

}  // namespace lockstep::apps
