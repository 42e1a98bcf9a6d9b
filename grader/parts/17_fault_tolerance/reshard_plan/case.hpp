// The case format of reshard_plan, shared by adapter and exam.
#pragma once

#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/checkpoint/storage.hpp"
#include "grader/play/boxes.hpp"
#include "grader/play/part.hpp"

namespace lockstep::checkpoint {

template <typename Archive>
void fields(Archive& archive, Stretch& stretch) {
  archive(stretch.source, stretch.offset, stretch.length);
}

}  // namespace lockstep::checkpoint

namespace lockstep::grader {

struct ReshardQuestion {
  Shape shape{};  // of the whole tensor; the part is not given it
  checkpoint::ShardPlan saved{}, wanted{};
  int rank = 0;
};
struct ReshardAnswer {
  bool missing = false;  // a CheckpointError was thrown
  std::vector<checkpoint::Stretch> stretches{};
  bool operator==(const ReshardAnswer&) const = default;
};

template <typename Archive>
void fields(Archive& archive, ReshardQuestion& question) {
  archive(question.shape, question.saved, question.wanted, question.rank);
}
template <typename Archive>
void fields(Archive& archive, ReshardAnswer& answer) {
  archive(answer.missing, answer.stretches);
}

// The answer of a program.
ReshardAnswer answer_of(const auto& reshard, const ReshardQuestion& q) {
  try {
    return {false, reshard(q.saved, q.wanted, q.rank)};
  } catch (const checkpoint::CheckpointError&) {
    return {true, {}};
  }
}

}  // namespace lockstep::grader
