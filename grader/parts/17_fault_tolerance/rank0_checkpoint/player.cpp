// Plays rank0_checkpoint on the judge's storage: writes one file, or takes a rank's acts of a life.
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/case.hpp"

#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {
namespace {

// Only the writer is given what there is to save.
void save(const LifeCase& life, const HeldState& held, comm::ProcessGroup& group,
          checkpoint::Storage& storage) {
  if (group.rank() != life.writer) {
    return checkpoint::save_from_one(group, life.writer, storage, {}, {}, {});
  }
  checkpoint::save_from_one(group, life.writer, storage, held.contents(), held.state(),
                            {.keep_last = life.keep_last});
}

void take_acts(const LifeCase& life, HeldState& held, comm::ProcessGroup& group, sim::Port& port) {
  ServedStorage storage(port);
  for (const LifeAct act : life.acts) {
    if (act == LifeAct::step) {
      held.step(ask<StepAnswer>(port, StepCall{held.state().step}).number);
    } else if (act == LifeAct::save) {
      told_by(port, held.state().step, [&] { save(life, held, group, storage); });
    } else {
      held.go_on_from(checkpoint::load_for_all(
          group, storage, [&](const checkpoint::SavedRun& saved) { held.restore(saved); }));
    }
  }
}

Bytes live(const LifeCase& life, sim::PlayerCase& played) {
  const auto world = make_case_world(played);
  LifeReport report;
  {
    const auto group = world->join(played);
    HeldState held(life, world->device());
    pass_time(played.port, life.begins_s);
    take_acts(life, held, *group, played.port);
    report = held.report();
  }
  world->require_intact();
  require_released(world->device(), 0);
  return fields_to_bytes(report);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<Rank0Case>(played.input);
  if (!c.file.empty()) {
    ServedStorage storage(played.port);
    return fields_to_bytes(ending_of<checkpoint::CheckpointError>(
        [&] { checkpoint::write_whole(storage, c.file, c.content); }));
  }
  if (c.peer == Peer::stays) return live(c.life, played);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& here) { live(c.life, here); });
}

}  // namespace lockstep::grader
