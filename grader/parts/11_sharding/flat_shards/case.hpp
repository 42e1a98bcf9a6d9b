// The case format of flat_shards, shared by adapter and exam.
#pragma once

#include "grader/play/part.hpp"
#include "grader/play/shard_plan.hpp"

namespace lockstep::grader {

struct ShardQuestion {
  std::vector<std::int64_t> numels;
  int ranks = 1;
};
template <typename Archive>
void fields(Archive& archive, ShardQuestion& question) {
  archive(question.numels, question.ranks);
}

}  // namespace lockstep::grader
