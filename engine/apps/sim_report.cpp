#include "engine/apps/sim_report.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/sim/core/traffic.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::apps {
namespace {

struct Sums {
  sim::RankCounters most, all;
};

Sums sums_of(const sim::Counters& counters) {
  Sums sums;
  for (const auto& rank : counters.ranks) {
    const auto add = [&](auto field) {
      sums.most.*field = std::max(sums.most.*field, rank.*field);
      sums.all.*field += rank.*field;
    };
    add(&sim::RankCounters::messages_sent);
    add(&sim::RankCounters::bytes_sent);
    add(&sim::RankCounters::bytes_left_node);
    sums.all.collectives = std::max(sums.all.collectives, rank.collectives);
  }
  return sums;
}

std::string bytes_of_most_and_all(std::int64_t most, std::int64_t all) {
  return text(counted(most, "byte"), " by the busiest rank, ", counted(all, "byte"), " by all");
}

std::string hash_text(std::uint64_t hash) {
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << hash;
  return out.str();
}

}  // namespace

void print_traffic(const SimReport& report, const sim::Network& network, std::string_view places) {
  constexpr std::size_t lines_max = 20;
  const bool ranks = places == "ranks";
  std::vector<sim::Traffic> pairs =
      ranks ? sim::traffic_of(report.counters) : sim::traffic_of_nodes(report.counters, network);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  const char* place = ranks ? "rank " : "node ";
  for (std::size_t i = 0; i < std::min(pairs.size(), lines_max); ++i) {
    const sim::Traffic& one = pairs[i];
    std::cout << text("  ", place, one.src, " to ", place, one.dst, ": ",
                      counted(one.bytes, "byte"), " in ", counted(one.messages, "message"), "\n");
  }
  if (pairs.size() > lines_max) {
    std::cout << text("  and ", pairs.size() - lines_max, " pairs with no more bytes\n");
  }
}

void print_words(const SimReport& report) {
  const auto [most, all] = sums_of(report.counters);
  const auto line = [](const char* name, const std::string& value) {
    std::cout << "  " << std::left << std::setw(14) << name << value << "\n";
  };
  line("virtual time", seconds_text(report.counters.makespan_s));
  line("messages",
       text(most.messages_sent, " by the busiest rank, ", all.messages_sent, " by all"));
  line("sent", bytes_of_most_and_all(most.bytes_sent, all.bytes_sent));
  if (report.several_nodes) {
    const auto within = [](const sim::RankCounters& rank) {
      return rank.bytes_sent - rank.bytes_left_node;
    };
    std::int64_t busiest = 0;
    for (const auto& rank : report.counters.ranks) busiest = std::max(busiest, within(rank));
    line("within nodes", bytes_of_most_and_all(busiest, within(all)));
    line("left a node", bytes_of_most_and_all(most.bytes_left_node, all.bytes_left_node));
  }
  line("depth", text(counted(report.counters.depth, "message"), ", the longest chain"));
  if (all.collectives > 0) line("collectives", text(all.collectives, ", priced, not sent"));
  line("values", report.proved ? text("every element of a sum contains each of the ", report.ranks,
                                      report.ranks == 1 ? " rank once" : " ranks once")
                 : report.sizes_only ? "none: sizes only"
                                     : "correct on every rank");
  line("trace", hash_text(report.counters.trace_hash));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  line("simulated in", text(seconds_text(report.wall_s), ", ",
                            static_cast<std::int64_t>(static_cast<double>(all.messages_sent) /
                                                      std::max(report.wall_s, 1e-9)),
                            " messages/s, ", usage.ru_maxrss / 1024, " MiB"));
}

void print_json(const SimReport& report) {
  const sim::Counters& counters = report.counters;
  const auto [most, all] = sums_of(counters);
  nlohmann::ordered_json out{{"program", report.program},
                             {"ranks", report.ranks},
                             {"count", report.count},
                             {"dtype", name_of(report.dtype)},
                             {"virtual_s", counters.makespan_s},
                             {"wall_s", report.wall_s},
                             {"depth", counters.depth},
                             {"messages", all.messages_sent},
                             {"messages_max", most.messages_sent},
                             {"bytes", all.bytes_sent},
                             {"bytes_max", most.bytes_sent},
                             {"bytes_left_node", all.bytes_left_node},
                             {"collectives", nlohmann::ordered_json::array()},
                             {"trace", hash_text(counters.trace_hash)},
                             {"finding", nullptr}};
  for (const auto& one : counters.collectives) {
    out["collectives"].push_back({{"kind", name_of(one.kind)}, {"bytes", one.bytes}});
  }
  if (report.finding) {
    out["finding"] = {{"verdict", name_of(report.finding->kind)},
                      {"message", sim::printable(report.finding->message, 4000)},
                      {"where", sim::printable(report.finding->where, 400)}};
  }
  std::cout << out.dump(2) << "\n";
}

}  // namespace lockstep::apps
