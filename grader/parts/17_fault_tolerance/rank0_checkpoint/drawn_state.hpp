// The state of a run that exams of saving draw: all that a checkpoint has to keep beside tensors.
#pragma once

#include "grader/exam/lives/saved.hpp"

namespace lockstep::grader {

inline checkpoint::TrainState drawn_state(CaseRunner& runner, std::int64_t step) {
  checkpoint::TrainState state{.step = step,
                               .epoch = runner.draw_between(1, 3),
                               .taken = places_of_a_step * runner.draw_between(0, 3),
                               .seed = runner.draw()};
  state.loss_scaler = {1024, runner.draw_between(1, 9)};
  state.notes = {{"dropout", text(runner.draw_between(1, 99))}};
  return state;
}

}  // namespace lockstep::grader
