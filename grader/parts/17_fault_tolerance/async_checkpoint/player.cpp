// Plays async_checkpoint: a training whose steps, and whose storage, are the judge's.
#include "grader/parts/17_fault_tolerance/async_checkpoint/case.hpp"

namespace lockstep::grader {
namespace {

using checkpoint::AsyncCheckpoint;
using checkpoint::Contents;
using Kind = SaveReport::Kind;

AsyncCheckpoint::Write write_of(ServedStorage& storage, std::size_t save, const AsyncCase& c) {
  return [&storage, save, &c](const Contents& snapshot) {
    try {
      for (const checkpoint::Piece& piece : snapshot.pieces) {
        const std::string file = checkpoint::within(folder_of_save(save), piece.name);
        storage.write(file, 0, piece.value.raw_bytes());
      }
    } catch (const checkpoint::CheckpointError& error) {
      if (c.foreign) throw ForeignDamage{error.what()};
      throw;
    }
  };
}

void train(const AsyncCase& c, HeldState& held, sim::PlayerCase& played) {
  ServedStorage storage(played.port);
  auto saver = checkpoint::make_async_checkpoint(played.strands);
  std::size_t saves = 0;
  const auto tell_of = [&](Kind kind, const std::string& what = {}) {
    tell(played.port, SaveReport{kind, static_cast<std::uint32_t>(held.state().step), what});
  };
  const auto told = [&](const auto& call) {
    try {
      told_by(played.port, held.state().step, call);
    } catch (const ForeignDamage& damage) {
      tell_of(Kind::other, damage.what);
    }
  };
  for (const LifeAct act : c.life.acts) {
    std::uint64_t number = 0;
    if (act == LifeAct::step || act == LifeAct::save_and_step) {
      number = ask<StepAnswer>(played.port, StepCall{held.state().step}).number;
    }
    if (act == LifeAct::step) {
      held.step(number);
    } else if (act == LifeAct::wait) {
      told([&] { saver->wait(); });
    } else {
      told([&] {
        saver->start(held.contents(), write_of(storage, saves++, c));
        if (act == LifeAct::save_and_step) held.step(number);
      });
    }
  }
  tell_of(Kind::ending);
  saver.reset();
  tell_of(Kind::ended);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<AsyncCase>(played.input);
  const auto world = make_case_world(played);
  {
    HeldState held(c.life, world->device());
    train(c, held, played);
  }
  world->require_intact();
  require_released(world->device(), 0);
  return {};
}

}  // namespace lockstep::grader
