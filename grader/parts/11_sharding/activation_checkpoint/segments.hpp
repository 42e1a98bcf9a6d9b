// The judge's view of a training with activation checkpoints: which blocks ran, when gradients
// of biases were made, and how much memory the player held meanwhile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/11_sharding/activation_checkpoint/case.hpp"

namespace lockstep::grader::activation_checkpoint {

// The masks, and what the gradients of losses begin at: drawn from the question's secret.
SegmentAnswer answer_to(const CheckpointQuestion& q, const SegmentCall& call);

struct SegmentsSeen {
  std::vector<int> runs{}, recorded{};  // by block, in all passes; recorded: as the player says
  std::vector<int> early{};             // by block: passes in whose first half its bias was made
  bool forward_is_over = false, all_is_over = false;
  int halves = 0;  // passes whose first half was told to be over
  // Memory of the player; the most, while blocks ran forward.
  std::optional<std::int64_t> forward_bytes{}, between_bytes{}, left_bytes{};
};

class SegmentService final : public TypedService<SegmentCall> {
 public:
  using MemoryOf = std::function<std::optional<std::int64_t>(int)>;

  SegmentService(const std::vector<CheckpointQuestion>& questions, MemoryOf memory_of);
  //   Throws  MalformedMessage when the question's training was not told to its end
  const SegmentsSeen& of(const CheckpointQuestion& question) const;

 private:
  struct Asked {
    CheckpointQuestion question;
    SegmentsSeen seen;
  };
  std::optional<Answer> answer(const sim::Actor& who, SegmentCall call, double now) override;
  void note(Asked& asked, const SegmentCall& call, int rank) const;

  std::map<std::uint64_t, Asked> questions_;  // by seed
  MemoryOf memory_of_;
};

}  // namespace lockstep::grader::activation_checkpoint
