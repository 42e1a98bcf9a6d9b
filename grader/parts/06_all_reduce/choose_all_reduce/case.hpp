// The case format of choose_all_reduce, shared by adapter and exam.
#pragma once

#include "engine/collectives/choose_all_reduce.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct ChoiceQuestion {
  collectives::LinkCosts links;
  int ranks = 1, ranks_per_node = 1;
  std::int64_t bytes = 1;
};

template <typename Archive>
void fields(Archive& archive, ChoiceQuestion& q) {
  for (sim::Link* link : {&q.links.within, &q.links.between}) {
    archive(link->latency_s, link->gap_s, link->bandwidth_bytes_s);
  }
  archive(q.ranks, q.ranks_per_node, q.bytes);
}

}  // namespace lockstep::grader

namespace lockstep::collectives {

template <typename Archive>
void fields(Archive& archive, Choice& choice) {
  archive(choice.algorithm, choice.seconds);
}

}  // namespace lockstep::collectives
