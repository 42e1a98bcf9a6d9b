// Plays a rank in one life of a run that is saved: it has its state, takes its acts in their order
// on the judge's storage, and reports what it holds at the end.
#pragma once

#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "grader/play/part.hpp"
#include "grader/play/saved_state.hpp"
#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

// save(group, storage, held) calls the part, or one that calls it.
void take_acts(const LifeCase& life, HeldState& held, comm::ProcessGroup& group, sim::Port& port,
               const auto& save) {
  ServedStorage storage(port, life.foreign ? Refusal::foreign : Refusal::checkpoint_error);
  for (const LifeAct act : life.acts) {
    if (act == LifeAct::step) {
      held.step(ask<StepAnswer>(port, StepCall{held.state().step}).number);
    } else if (act == LifeAct::save) {
      told_by(port, held.state().step, [&] { save(group, storage, held); });
    } else {
      try {
        held.go_on_from(checkpoint::load_for_all(
            group, storage, [&](const checkpoint::SavedRun& saved) { held.restore(saved); }));
      } catch (const checkpoint::CheckpointError& error) {
        return held.was_refused(error.what());
      }
    }
  }
}

Bytes play_life(const LifeCase& life, sim::PlayerCase& played, const auto& save) {
  const auto world = make_case_world(played);
  LifeReport report;
  {
    const auto group = world->join(played);
    HeldState held(life, world->device());
    pass_time(played.port, life.begins_s);
    take_acts(life, held, *group, played.port, save);
    report = held.report();
  }
  world->require_intact();
  require_released(world->device(), 0);
  return fields_to_bytes(report);
}

}  // namespace lockstep::grader
