// Records what one rank's training does and when, for its timeline. On simulated ranks the core
// notes who computes, communicates and waits; this file adds the names of what is computed, and the
// memory. On real ranks this file records everything: the phases of a step, and each bucket in
// flight.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/collectives/bucket.hpp"
#include "engine/tensor/device.hpp"
#include "engine/trace/timeline.hpp"
#include "engine/train/phases.hpp"

namespace lockstep::apps {

class RankTrace final : public train::PhaseWatch {
 public:
  // Both must outlive it; times are those of the group's clock.
  RankTrace(comm::ProcessGroup& group, const Device& device);
  ~RankTrace() override;

  void enter(train::Phase phase) override;
  // The device's memory as it is now.
  void sample_memory();
  // A hook that starts `inner` and notes when each bucket travels; `inner` must outlive its use,
  // and the result lives as long as this.
  collectives::CommHook& watch(collectives::CommHook& inner);

  // For real ranks: all that was noted. Waiting is taken out of computing.
  trace::Timeline timeline() const;
  // For ranks whose GPUs are paper: what it carried out, at the time when it did
  // (gpu::paper_history) and not when the host asked for it. Kernels have the name of the phase in
  // which they were asked for.
  trace::Timeline timeline_of_paper(const std::string& history) const;
  // For simulated ranks: names what this rank computes in `timeline`, and adds its memory.
  void name_computing(trace::Timeline& timeline) const;

 private:
  struct Mark {
    double time_s;
    train::Phase phase;
  };
  struct Times;
  class Hook;
  class Reduction;
  friend class Hook;
  friend class Reduction;

  train::Phase phase_at(double time_s) const;
  trace::Series memory_series() const;
  void add_phase(trace::Timeline& timeline, const trace::Span& computed) const;

  comm::ProcessGroup& group_;
  const Device& device_;
  std::vector<Mark> marks_;
  std::vector<trace::Series::Sample> memory_;
  std::unique_ptr<Times> times_;  // of buckets
  std::unique_ptr<Hook> hook_;
};

// Writes the timeline of ranks that are processes: each leaves its own beside `file`, and rank 0
// puts them together. They must share the folder.
//   Comm    two barriers
//   Throws  Error on rank 0 when a rank's is missing
void write_together(const std::string& file, comm::ProcessGroup& group, trace::Timeline mine);

}  // namespace lockstep::apps
