// Reports what a simulated run cost, in words and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/sim/core/core.hpp"

namespace lockstep::apps {

struct SimReport {
  std::string_view program;
  int ranks = 1;
  std::int64_t count = 0;
  DType dtype = DType::float32;
  bool sizes_only = false;
  bool proved = false;  // on sets of contributors
  bool several_nodes = false;
  sim::Counters counters{};
  std::optional<sim::Finding> finding{};  // where it went wrong
  double wall_s = 0;
};

void print_words(const SimReport& report);

// Prints the traffic between each pair, the largest first. Requires Record::everything.
//   places  "ranks" or "nodes"
void print_traffic(const SimReport& report, const sim::Network& network, std::string_view places);

// { program, ranks, count, dtype, virtual_s, wall_s, depth, messages, messages_max, bytes,
//   bytes_max, bytes_left_node, collectives: [{kind, bytes}], trace, finding: {verdict, message,
//   where} | null }: messages and bytes of all ranks, and of the busiest.
void print_json(const SimReport& report);

}  // namespace lockstep::apps
