// Plays async_checkpoint: a training whose steps, and whose storage, are the judge's.
#include "grader/parts/17_fault_tolerance/async_checkpoint/case.hpp"
#include "grader/play/away_device.hpp"

namespace lockstep::grader {
namespace {

using checkpoint::AsyncCheckpoint;
using checkpoint::Contents;
using checkpoint::Piece;
using Kind = SaveReport::Kind;

// The state that is saved, or its likeness on a device that is away.
class Saved {
 public:
  Saved(const HeldState& held, Device& device) : held_(held), contents_(held.contents()) {
    for (Piece& piece : contents_.pieces) piece.value = to_device(piece.value, device);
  }
  const Contents& contents(const std::string& optimizer) {
    contents_.optimizer = optimizer;
    return contents_;
  }
  void step(HeldState& held, std::uint64_t number) const {
    held.step(number);
    for (std::size_t i = 0; i < contents_.pieces.size(); ++i) {
      const Tensor& there = contents_.pieces[i].value;
      if (!there.device().on_host()) write_bytes(there, copy_of(held_.contents().pieces[i].value));
    }
  }

 private:
  const HeldState& held_;
  Contents contents_;
};

AsyncCheckpoint::Write write_of(ServedStorage& storage, std::size_t save, const AsyncCase& c) {
  return [&storage, save, &c](const Contents& snapshot) {
    try {
      if (snapshot.pieces.empty()) storage.write(file_of_nothing(save), 0, {});
      for (const Piece& piece : snapshot.pieces) {
        const bool here = piece.value.device().on_host();
        storage.write(file_of(save, snapshot.optimizer, piece) + (here ? "" : unreadable), 0,
                      here ? piece.value.raw_bytes() : std::span<std::byte>{});
      }
    } catch (const checkpoint::CheckpointError& error) {
      if (c.foreign) throw ForeignDamage{error.what()};
      throw;
    }
  };
}

void train(const AsyncCase& c, HeldState& held, Saved saved, sim::PlayerCase& played) {
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
      saved.step(held, number);
    } else if (act == LifeAct::wait) {
      told([&] { saver->wait(); });
    } else {
      told([&] {
        const std::size_t save = saves++;
        saver->start(saved.contents(optimizer_of(save, c)), write_of(storage, save, c));
        if (act == LifeAct::save_and_step) saved.step(held, number);
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
  AwayDevice away(world->device());
  {
    HeldState held(c.life, world->device());
    train(c, held, Saved(held, c.away ? away : world->device()), played);
  }
  require_released(away, 0);
  world->require_intact();
  require_released(world->device(), 0);
  return {};
}

}  // namespace lockstep::grader
