// The case format of choose_all_reduce, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/collectives/choose_all_reduce.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct ChoiceQuestion {
  collectives::LinkCosts links;
  int ranks = 1, ranks_per_node = 1;
  std::int64_t bytes = 1;
};

inline Bytes encode(const std::vector<ChoiceQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    for (const sim::Link& link : {q.links.within, q.links.between}) {
      out.put(link.latency_s).put(link.gap_s).put(link.bandwidth_bytes_s);
    }
    out.put(q.ranks).put(q.ranks_per_node).put(q.bytes);
  }
  return out.take();
}

inline std::vector<ChoiceQuestion> decode_choice_questions(ByteReader& in) {
  std::vector<ChoiceQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    for (sim::Link* link : {&q.links.within, &q.links.between}) {
      link->latency_s = in.get<double>();
      link->gap_s = in.get<double>();
      link->bandwidth_bytes_s = in.get<double>();
    }
    q.ranks = in.get<int>();
    q.ranks_per_node = in.get<int>();
    q.bytes = in.get<std::int64_t>();
  }
  return questions;
}

}  // namespace lockstep::grader
