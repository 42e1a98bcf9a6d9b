#include "grader/exams/traffic.hpp"

#include <algorithm>

namespace lockstep::grader {

double ring_bytes(std::int64_t bytes, int ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
}

double busiest_rank_bytes(const sim::Counters& counters) {
  double messages = 0;
  for (const auto& rank : counters.ranks) {
    messages = std::max(messages, static_cast<double>(rank.bytes_sent));
  }
  double collectives = 0;
  for (const auto& record : counters.collectives) {
    const int ranks = static_cast<int>(record.entered_s.size());
    const auto bytes = static_cast<double>(record.bytes);
    switch (record.kind) {
      case sim::Collective::all_reduce:
        collectives += ring_bytes(record.bytes, ranks);
        break;
      case sim::Collective::all_gather:
        collectives += (ranks - 1) * bytes;
        break;
      case sim::Collective::reduce_scatter:
      case sim::Collective::scatter:
      case sim::Collective::all_to_all:
        collectives += (ranks - 1) * bytes / ranks;
        break;
      case sim::Collective::broadcast:
      case sim::Collective::reduce:
      case sim::Collective::gather:
        collectives += ranks > 1 ? bytes : 0;
        break;
      case sim::Collective::barrier:
        break;
    }
  }
  return messages + collectives;
}

double total_bytes(const sim::Counters& counters) {
  double bytes = 0;
  for (const auto& rank : counters.ranks) bytes += static_cast<double>(rank.bytes_sent);
  for (const auto& record : counters.collectives) {
    sim::Counters one;
    one.collectives = {record};
    const int senders =
        static_cast<int>(record.entered_s.size()) - (record.kind == sim::Collective::broadcast);
    bytes += senders * busiest_rank_bytes(one);
  }
  return bytes;
}

}  // namespace lockstep::grader
