// The run as a person sees it: a bar that moves on a terminal, a line now and then elsewhere, and
// after each epoch the accuracy and whether the replicas are still equal.
#pragma once

#include <iosfwd>

#include "engine/train/observer.hpp"

namespace lockstep::train {

// The kind of output. A terminal's line is redrawn; a file or a pipe gets whole lines only.
enum class Output : std::uint8_t { terminal, plain };
// Hidden where the seconds of this run say nothing about the machine that is meant.
enum class Rates : std::uint8_t { shown, hidden };

class Progress final : public Observer {
 public:
  // `out` must outlive it.
  Progress(std::ostream& out, Output output, Rates rates = Rates::shown)
      : out_(out), output_(output), rates_(rates) {}

  void on_step(const StepReport& report) override;
  void on_epoch(const EpochReport& report) override;
  void on_end(const Summary& summary) override;

 private:
  std::ostream& out_;
  Output output_;
  Rates rates_;
  double shown_at_s_ = 0;  // when the last line or bar was written
  std::int64_t steps_seen_ = 0;
  double smooth_loss_ = 0;  // recent steps weigh most
  double smooth_rate_ = 0;
};

}  // namespace lockstep::train
