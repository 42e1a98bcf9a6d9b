// A run that is saved and loaded, as players have it: named tensors, a position, and steps whose
// numbers the judge sends only then. A step adds whole numbers to every element, so that any state
// that was lost, torn or mixed shows in every later one, exactly.
#pragma once

#include "engine/base/is_any.hpp"
#include "engine/base/random.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/boxes.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/thrown_at.hpp"

namespace lockstep {
namespace optim {

template <typename Archive>
void fields(Archive& archive, LossScalerState& state) {
  archive(state.scale, state.clean_updates);
}

}  // namespace optim

namespace checkpoint {

template <typename Archive>
void fields(Archive& archive, TrainState& state) {
  archive(state.step, state.epoch, state.taken, state.seed, state.loss_scaler, state.notes);
}

}  // namespace checkpoint
}  // namespace lockstep

namespace lockstep::grader {

// The part that a rank holds of one tensor of the run, of float64. A life that has to load it is
// given no bytes.
struct RunTensor {
  checkpoint::PieceKind kind = checkpoint::PieceKind::parameter;
  std::string name{};
  Shape shape{};  // of the whole tensor
  Boxes boxes{};
  Bytes bytes{};  // of their elements
};
template <typename Archive>
void fields(Archive& archive, RunTensor& held) {
  archive(held.kind, held.name, held.shape, held.boxes, held.bytes);
}

// The acts of a rank in one life, in their order. save_and_step: a step changes the state as soon
// as the save has returned.
enum class LifeAct : std::uint8_t { step, save, save_and_step, load, wait };

struct LifeCase {
  std::vector<RunTensor> tensors{};
  checkpoint::TrainState state{};  // at first; a life that loads has none
  std::vector<LifeAct> acts{};
  int writer = 0;
  int keep_last = 0;
  double begins_s = 0;   // before its first act
  bool foreign = false;  // what the storage refuses is a std::runtime_error
};
template <typename Archive>
void fields(Archive& archive, LifeCase& c) {
  archive(c.tensors, c.state, c.acts, c.writer, c.keep_last, c.begins_s, c.foreign);
}

// The number of a step: element e of tensor t, flat, grows by added(number, t, e).
struct StepCall {
  static constexpr const char* service = "steps";
  std::int64_t step = 0;
};
struct StepAnswer {
  std::uint64_t number = 0;
};
template <typename Archive>
void fields(Archive& archive, StepCall& call) {
  archive(call.step);
}
template <typename Archive>
void fields(Archive& archive, StepAnswer& answer) {
  archive(answer.number);
}
// 20 bits, so that sums of them are exact.
inline double added(std::uint64_t number, std::uint64_t tensor, std::uint64_t element) {
  return static_cast<double>(random_bits(number, (tensor << 32) + element) >> 44);
}

inline constexpr std::int64_t places_of_a_step = 8, places_of_an_epoch = 40;
inline void advance(checkpoint::TrainState& state) {
  ++state.step;
  state.taken += places_of_a_step;
  if (state.taken >= places_of_an_epoch) {
    state.taken = 0;
    ++state.epoch;
  }
  if (state.loss_scaler) ++state.loss_scaler->clean_updates;
}

// A rank tells of its saves, when something happens.
struct SaveReport {
  static constexpr const char* service = "saves";
  enum class Kind : std::uint8_t {
    saving,   // is about to call the part
    saved,    // the call has returned
    refused,  // it has thrown CheckpointError
    other,    // it has thrown something else
    ending,   // is about to end what saves in the background
    ended,    // that has ended
  };
  Kind kind = Kind::saving;
  std::uint32_t step = 0;
  std::string what{};
};
template <typename Archive>
void fields(Archive& archive, SaveReport& report) {
  archive(report.kind, report.step, report.what);
}
inline void check_fields(SaveReport& report) { check_report(report, SaveReport::Kind::ended); }

// The result of a rank.
struct LifeReport {
  std::vector<Bytes> values{};  // of what the rank holds of each tensor
  checkpoint::TrainState state{};
  bool found = false;          // the last load returned where the run is
  std::string refused{};       // the CheckpointError of a load, behind which nothing is done
  std::uint32_t restored = 0;  // how often a load has restored the tensors
  std::vector<std::string> missing{};  // tensors that were not in what was loaded
};
template <typename Archive>
void fields(Archive& archive, LifeReport& report) {
  archive(report.values, report.state, report.found, report.refused, report.restored,
          report.missing);
}
inline void check_fields(LifeReport& report) {
  report.refused = sim::printable(report.refused, 400);
}

// The state of a rank in the player.
class HeldState {
 public:
  HeldState(const LifeCase& c, Device& device) {
    report_.state = c.state;
    contents_.optimizer = "adamw";
    for (const RunTensor& held : c.tensors) {
      const bool whole = is_whole(held.boxes, held.shape);
      const Shape shape = whole ? held.shape : Shape{numel_of(held.boxes)};
      const Tensor value = full(shape, 0, DType::float64, device);
      write_bytes(value, held.bytes);
      contents_.pieces.push_back({held.kind, held.name, held.shape, held.boxes, value});
    }
  }

  const checkpoint::Contents& contents() const { return contents_; }
  const checkpoint::TrainState& state() const { return report_.state; }

  void step(std::uint64_t number) {
    for (std::size_t tensor = 0; tensor < contents_.pieces.size(); ++tensor) {
      const checkpoint::Piece& piece = contents_.pieces[tensor];
      const auto values = piece.value.data<double>();
      std::size_t i = 0;  // without a list of the elements, since memory is looked at
      for (const Box& box : piece.boxes) {
        for_runs(piece.shape, box, [&](std::int64_t first, std::int64_t count) {
          for (std::int64_t element = first; element < first + count; ++element) {
            values[i++] += added(number, tensor, static_cast<std::uint64_t>(element));
          }
        });
      }
    }
    advance(report_.state);
  }

  // A tensor that was not saved stays as it is, and is reported.
  void restore(const checkpoint::SavedRun& saved) {
    ++report_.restored;
    for (const checkpoint::Piece& piece : contents_.pieces) {
      const bool of_optimizer = piece.kind == checkpoint::PieceKind::optimizer_state;
      const checkpoint::SavedTensors& from = of_optimizer ? saved.optimizer() : saved.weights();
      if (const checkpoint::TensorEntry* const entry = from.find(piece.name)) {
        from.load_boxes(*entry, piece.boxes, piece.value);
      } else {
        report_.missing.push_back(piece.name);
      }
    }
  }
  void was_refused(const std::string& what) { report_.refused = what; }
  // Takes what a load has returned.
  void go_on_from(const std::optional<checkpoint::TrainState>& state) {
    report_.found = state.has_value();
    if (state) report_.state = *state;
  }

  LifeReport report() const {
    LifeReport report = report_;
    for (const checkpoint::Piece& piece : contents_.pieces) {
      report.values.push_back(copy_of(piece.value));
    }
    return report;
  }

 private:
  checkpoint::Contents contents_;
  LifeReport report_;
};

// Calls, and tells how it ended. A peer that is lost is what its CommError says to the caller.
void told_by(sim::Port& port, std::int64_t step, const auto& call) {
  const auto tell_of = [&](SaveReport::Kind kind, const std::string& what) {
    tell(port, SaveReport{kind, static_cast<std::uint32_t>(step), what});
  };
  tell_of(SaveReport::Kind::saving, "");
  try {
    call();
  } catch (const std::exception& error) {
    if (is_any<NotImplemented, CommError>(error)) throw;
    if (thrown_at != nullptr) thrown_at(error);
    const bool refused = is_any<checkpoint::CheckpointError>(error);
    return tell_of(refused ? SaveReport::Kind::refused : SaveReport::Kind::other, error.what());
  }
  tell_of(SaveReport::Kind::saved, "");
}

}  // namespace lockstep::grader
