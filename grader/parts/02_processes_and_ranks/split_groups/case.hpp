// The case format of split_groups, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/comm/split_groups.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// Either questions about groups that are only described, or one group that is really split: this
// rank gets its own color, key and token and learns those of the others from them.
enum class SplitForm : std::uint8_t { questions, exchange };
enum class SplitAnswer : std::uint8_t { plan, no_group };

struct SplitQuestion {
  std::vector<comm::ColorKey> of_all_ranks;
  int rank = 0;
};

inline Bytes encode(const std::vector<SplitQuestion>& questions) {
  ByteWriter out;
  out.put(SplitForm::questions).put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(static_cast<std::uint32_t>(q.of_all_ranks.size()));
    for (const comm::ColorKey& named : q.of_all_ranks) out.put(named.color).put(named.key);
    out.put(q.rank);
  }
  return out.take();
}

// Reads what follows the form.
inline std::vector<SplitQuestion> decode_split_questions(ByteReader& in) {
  std::vector<SplitQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.of_all_ranks.resize(in.get<std::uint32_t>());
    for (auto& named : q.of_all_ranks) {
      named.color = in.get<int>();
      named.key = in.get<int>();
    }
    q.rank = in.get<int>();
  }
  return questions;
}

inline void write(ByteWriter& out, const std::optional<comm::GroupPlan>& plan) {
  out.put(plan ? SplitAnswer::plan : SplitAnswer::no_group);
  if (plan) out.put_list(std::span<const int>(plan->members)).put(plan->rank);
}

inline std::optional<comm::GroupPlan> read_plan(ByteReader& in) {
  if (in.get<SplitAnswer>() == SplitAnswer::no_group) return std::nullopt;
  comm::GroupPlan plan;
  plan.members = in.get_list<int>();
  plan.rank = in.get<int>();
  return plan;
}

}  // namespace lockstep::grader
