// The case format of node_layout, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/launch/node_layout.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class LayoutForm : std::uint8_t { environment, place };
enum class LayoutAnswer : std::uint8_t { answer, refused, threw_otherwise };

// A layout and its question: the environment of (node, local_rank), or the place of `rank`.
struct LayoutQuestion {
  LayoutForm form = LayoutForm::environment;
  std::vector<int> ranks_per_node;
  int node = 0, local_rank = 0;
  comm::Endpoint master;
  int rank = 0;
};

inline Bytes encode(const std::vector<LayoutQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(q.form).put_list(std::span<const int>(q.ranks_per_node));
    out.put(q.node).put(q.local_rank).put(q.rank);
    out.put_text(q.master.host).put(q.master.port);
  }
  return out.take();
}

inline std::vector<LayoutQuestion> decode_layout_questions(ByteReader& in) {
  std::vector<LayoutQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.form = in.get<LayoutForm>();
    q.ranks_per_node = in.get_list<int>();
    q.node = in.get<int>();
    q.local_rank = in.get<int>();
    q.rank = in.get<int>();
    q.master.host = in.get_text();
    q.master.port = in.get<int>();
  }
  return questions;
}

}  // namespace lockstep::grader
