// The case format of node_layout, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/launch/node_layout.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class LayoutForm : std::uint8_t { environment, place };
// A layout and its question: the environment of (node, local_rank), or the place of `rank`.
struct LayoutQuestion {
  LayoutForm form = LayoutForm::environment;
  std::vector<int> ranks_per_node;
  int node = 0, local_rank = 0;
  comm::Endpoint master;
  int rank = 0;
};

// The answer, in the form that was asked for.
struct LayoutAnswer {
  launch::WorkerEnv environment;
  launch::Place place;
};

template <typename Archive>
void fields(Archive& archive, LayoutQuestion& q) {
  archive(q.form, q.ranks_per_node, q.node, q.local_rank, q.rank, q.master.host, q.master.port);
}
template <typename Archive>
void fields(Archive& archive, LayoutAnswer& answer) {
  archive(answer.environment, answer.place.node, answer.place.local_rank);
}

}  // namespace lockstep::grader
