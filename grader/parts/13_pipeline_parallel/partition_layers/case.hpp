// The case format of partition_layers, shared by adapter and exam.
#pragma once

#include "grader/play/part.hpp"

namespace lockstep::grader {

struct PartitionQuestion {
  std::vector<double> cost;
  int stages = 1;
};
template <typename Archive>
void fields(Archive& archive, PartitionQuestion& question) {
  archive(question.cost, question.stages);
}

}  // namespace lockstep::grader
