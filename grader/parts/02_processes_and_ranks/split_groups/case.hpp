// The case format of split_groups, shared by adapter and exam.
#pragma once

#include <optional>
#include <vector>

#include "engine/comm/split_groups.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// Either questions about groups that are only described, or one group that is really split: this
// rank gets its own color, key and token and learns those of the others from them.
enum class SplitForm : std::uint8_t { questions, exchange };

struct SplitQuestion {
  std::vector<comm::ColorKey> of_all_ranks;
  int rank = 0;
};

struct SplitExchange {
  comm::ColorKey mine;
  std::int64_t token = 0;
};

using Plan = std::optional<comm::GroupPlan>;  // nothing: in no group

// The result of an exchange on a rank: the tokens of its group's members, by rank.
struct SplitReport {
  Plan plan;
  std::vector<std::int64_t> tokens;
};

template <typename Archive>
void fields(Archive& archive, SplitQuestion& q) {
  archive(q.of_all_ranks, q.rank);
}
template <typename Archive>
void fields(Archive& archive, SplitExchange& exchange) {
  archive(exchange.mine, exchange.token);
}
template <typename Archive>
void fields(Archive& archive, SplitReport& report) {
  archive(report.plan, report.tokens);
}

}  // namespace lockstep::grader

namespace lockstep::comm {

template <typename Archive>
void fields(Archive& archive, ColorKey& named) {
  archive(named.color, named.key);
}
template <typename Archive>
void fields(Archive& archive, GroupPlan& plan) {
  archive(plan.members, plan.rank);
}

}  // namespace lockstep::comm
