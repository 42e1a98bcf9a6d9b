#include "engine/comm/worlds/nccl/comparison.hpp"

#include <algorithm>

#include "engine/comm/worlds/nccl/gathered.hpp"

namespace lockstep::comm {

void Comparison::add(const CallFingerprint& mine, const Collective& collective, double timeout_s,
                     const Where& where, std::shared_ptr<Flight> flight) {
  if (core_.size() == 1) {
    if (flight != nullptr) flight->checked();
    return;
  }
  const Parts parts{collective.input_counts, collective.output_counts};
  static_cast<void>(worker_.start([this, mine, parts, timeout_s, where, flight] {
    try {
      core_.refuse_if_failed([&] { return text_of(mine); });
      const std::string why = disagreement_of(mine, parts, timeout_s, where);
      if (!why.empty()) throw Error(why);
      if (flight != nullptr) flight->checked();
    } catch (const Error& error) {
      const auto failure = core_.failed(text_of(mine), reason_in(error.what()));
      if (flight != nullptr) flight->failed(failure);
    }
  }));
}

// The words have a deadline, and throw where a rank does not come.
std::string Comparison::disagreement_of(const CallFingerprint& mine, const Parts& parts,
                                        double timeout_s, const Where& where) {
  const auto run = [&](CollectiveKind kind, const Tensor& in, const Tensor& out) {
    by_words_({.kind = kind, .input = in, .output = out, .timeout_s = timeout_s}, where);
  };
  const int size = core_.size();
  const auto asked = gathered(mine, size, host_, [&](const Tensor& one, const Tensor& all) {
    run(CollectiveKind::all_gather, one, all);
  });
  std::string why = disagreement(asked, core_.names());
  if (!why.empty() || parts.sent.empty()) return why;
  const Tensor mine_to_each = empty({size}, DType::int64, host_), to_me = mine_to_each.clone();
  std::ranges::copy(parts.sent, mine_to_each.data<std::int64_t>().begin());
  run(CollectiveKind::all_to_all, mine_to_each, to_me);
  const auto arriving = to_me.data<std::int64_t>();
  return disagreement({arriving.begin(), arriving.end()}, parts.expected, core_.rank(),
                      core_.names());
}

}  // namespace lockstep::comm
