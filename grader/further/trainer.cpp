#include "grader/further/trainer.hpp"

#include <iostream>

#include "engine/apps/train_command_line.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {

std::string ready_trainer(const Lab& lab, const std::vector<const Arguments*>& runs) {
  if (lab.packed) return "train";
  apps::Trainer needed;
  for (const Arguments* run : runs) {
    const apps::Trainer of_run = apps::trainer_for(*run);
    if (of_run.what.empty() || of_run.program == needed.program) continue;
    needed = needed.what.empty() ? of_run
                                 : apps::Trainer{"train-all", needed.what + " and " + of_run.what};
  }
  const bool first =
      lab.builds && !std::filesystem::exists(lab.places.build / "bin" / needed.program);
  if (first)
    std::cerr << "the trainer with " << needed.what << " is built once, when it is first used\n";
  make_targets_ready(lab, {needed.program});
  return needed.program;
}

}  // namespace lockstep::grader
