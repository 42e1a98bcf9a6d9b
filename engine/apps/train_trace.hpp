// Records what one rank's training does and when, for its timeline. On simulated ranks the core
// notes who computes, communicates and waits; this file adds the names of what is computed, and the
// memory. On real ranks this file records everything: the phases of a step, and each bucket or
// collective of shards in flight.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/collectives/communication.hpp"
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
  // Notes a collective until its Work is waited for: the one that is returned, and no other.
  comm::Work under_way(collectives::UnderWay what, comm::Work work);

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
  class Watched;
  friend class Hook;
  friend class Watched;

  train::Phase phase_at(double time_s) const;
  trace::Series memory_series() const;
  void add_phase(trace::Timeline& timeline, const trace::Span& computed) const;
  void add_waits(trace::Timeline& timeline) const;
  void add_collectives(trace::Timeline& timeline) const;

  comm::ProcessGroup& group_;
  const Device& device_;
  std::vector<Mark> marks_;
  std::vector<trace::Series::Sample> memory_;
  std::unique_ptr<Times> times_;  // of buckets and other collectives
  std::unique_ptr<Hook> hook_;
};

// Writes the timeline of ranks that are processes: each leaves its own beside `file`, and rank 0
// puts them together. They must share the folder.
//   Comm    two barriers
//   Throws  Error on rank 0 when a rank's is missing
void write_together(const std::string& file, comm::ProcessGroup& group, trace::Timeline mine);

}  // namespace lockstep::apps
