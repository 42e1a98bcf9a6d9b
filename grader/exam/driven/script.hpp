// The backward passes of a driven part (play/driven_play.hpp): what each rank's gradients are, in
// which order they come and how long each takes, all of it drawn from a salt; the service that
// plays them out; and what is right after each pass.
#pragma once

#include <vector>

#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/play/driven_play.hpp"

namespace lockstep::grader {

// One pass that is reduced, and what came before it.
struct DrivenPass {
  // taken: every grad was taken away. kept: those of the pass before are there and are added to.
  // added: taken away, then an unreduced pass made one for every other parameter.
  enum class Before : std::uint8_t { taken, kept, added } before = Before::taken;
  // some_elsewhere: every third grad is another tensor than before; some_absent: every third
  // parameter gets no gradient on the even ranks, and the second one on no rank.
  enum class Makes : std::uint8_t { in_place, some_elsewhere, some_absent } makes = Makes::in_place;
  enum class Order : std::uint8_t { of_each_rank, last_first } order = Order::of_each_rank;
  enum class Part : std::uint8_t { goes_on, is_remade } part = Part::goes_on;
};

struct DrivenScript {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;  // elements of each parameter
  std::vector<DrivenPass> passes;
  double gap_s = 20e-6;   // what a gradient takes, on average; between half and three halves
  double share = 0;       // what a gradient is multiplied by before the sum; 0: 1/N
  double afterwards = 1;  // what the sum is multiplied by
  // unfinished: one more pass, in which one gradient comes, and then finalize_early.
  // one_missing: the same, but every gradient comes except that of parameter `missing`.
  enum class End : std::uint8_t { finished, unfinished, one_missing } end = End::finished;
  std::size_t missing = 0;
  Held held = Held::usual;

  double share_of(int ranks) const { return share == 0 ? 1.0 / ranks : share; }
  double weight_of(int ranks) const { return share_of(ranks) * afterwards; }
  GradientPlan plan() const;  // every parameter has a gradient
};

struct ScriptedEvent {
  DrivenEvent event;
  double takes_s = 0;  // until the event comes, since it was asked for
  std::size_t pass = 0;
};
std::vector<ScriptedEvent> script_of(const DrivenScript& script, std::uint64_t salt, int rank);

// The situations into which a rank's gradients put a part.
void ask_of(const DrivenScript& script, std::uint64_t salt, int rank, Situations& asked);

// Plays the scripts of the group's ranks, and notes when events were asked for and given.
class ScriptService final : public TypedService<EventCall> {
 public:
  ScriptService(Members members, std::vector<std::vector<ScriptedEvent>> by_rank);

  struct Note {
    ScriptedEvent scripted;
    double asked_s = 0, given_s = 0;
  };
  // The notes of a rank of the group, in order. Each event was asked for before the next.
  const std::vector<Note>& notes(int rank) const { return notes_[static_cast<std::size_t>(rank)]; }
  //   Throws  MalformedMessage when a rank did not ask for all of its events
  void require_all() const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, EventCall call, double now) override;

  Members members_;
  std::vector<std::vector<ScriptedEvent>> by_rank_;
  std::vector<std::vector<Note>> notes_;
};
ScriptService service_of(const DrivenScript& script, const Members& members, std::uint64_t salt);

// A parameter's gradient in one pass: what each rank's share was made of, and the sum of shares.
struct DrivenGradient {
  std::vector<std::vector<double>> before, made;  // by rank; zeros where there is none
  std::vector<double> values, tolerance;          // after the pass, on every rank
};
// By pass and parameter.
std::vector<std::vector<DrivenGradient>> right_gradients(const DrivenScript& script,
                                                         std::uint64_t salt, int ranks);

}  // namespace lockstep::grader
