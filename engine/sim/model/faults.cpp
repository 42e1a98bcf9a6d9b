#include "engine/sim/model/faults.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {

namespace {

constexpr double cut = std::numeric_limits<double>::infinity();

template <typename Number>
std::optional<Number> number_in(std::string_view words) {
  Number value{};
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  if (error != std::errc{} || end != words.data() + words.size()) return std::nullopt;
  return value;
}

bool take_word(std::string_view& words, std::string_view word) {
  if (!words.starts_with(word)) return false;
  words.remove_prefix(word.size());
  return true;
}

// "10ms", "0.01"
std::optional<double> seconds_in(std::string_view words) {
  double unit = 1;
  for (const auto& [name, value] :
       {std::pair("ms", 1e-3), std::pair("us", 1e-6), std::pair("s", 1.0)}) {
    if (!words.ends_with(name)) continue;
    words.remove_suffix(std::string_view(name).size());
    unit = value;
    break;
  }
  const auto value = number_in<double>(words);
  return value ? std::optional(*value * unit) : std::nullopt;
}

std::optional<Faults::Kill> kill_in(std::string_view words) {
  const auto at = words.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  Faults::Kill kill;
  const auto rank = number_in<int>(words.substr(0, at));
  words.remove_prefix(at + 1);
  if (!rank) return std::nullopt;
  kill.rank = *rank;
  kill.counts_calls = take_word(words, "call:");
  if (kill.counts_calls || take_word(words, "step:")) {
    const auto call = number_in<std::int64_t>(words);
    if (!call || *call < 1) return std::nullopt;
    kill.at_call = *call;
    return kill;
  }
  const auto at_s = seconds_in(words);
  if (!at_s || !(*at_s >= 0)) return std::nullopt;
  kill.at_s = *at_s;
  return kill;
}

std::optional<Faults::BadLink> link_in(std::string_view words) {
  Faults::BadLink link;
  const auto dash = words.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto colon = words.find(':', dash);
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view a = words.substr(0, dash), b = words.substr(dash + 1, colon - dash - 1);
  const bool of_nodes = take_word(a, "node");
  if (of_nodes != take_word(b, "node")) return std::nullopt;
  if (of_nodes) link.ends = Faults::Ends::nodes;
  const auto first = number_in<int>(a), second = number_in<int>(b);
  words.remove_prefix(colon + 1);
  if (!first || !second) return std::nullopt;
  link.a = *first;
  link.b = *second;
  link.slower = cut;
  if (words == "cut") return link;
  if (!take_word(words, "slow:")) return std::nullopt;
  const auto factor = number_in<double>(words);
  if (!factor) return std::nullopt;
  link.slower = *factor;
  return link;
}

}  // namespace

void add_fault(Faults& faults, const std::string& words) {
  std::string_view rest = words;
  if (take_word(rest, "kill:")) {
    if (const auto kill = kill_in(rest)) return faults.kills.push_back(*kill);
  } else if (take_word(rest, "link:")) {
    if (const auto link = link_in(rest)) return faults.links.push_back(*link);
  }
  throw UsageError(text("--fault ", words, ": expected kill:RANK@TIME (such as kill:3@10ms), ",
                        "kill:RANK@step:K, kill:RANK@call:K, link:A-B:slow:FACTOR or link:A-B:cut, "
                        "where A and B are ",
                        "ranks or nodes (link:node0-node1:cut)"));
}

void add_slow(Faults& faults, const std::string& words) {
  const auto colon = words.find(':');
  const auto rank = number_in<int>(words.substr(0, colon));
  const auto factor =
      colon == std::string::npos ? std::nullopt : number_in<double>(words.substr(colon + 1));
  if (!rank || !factor) {
    throw UsageError(text("--slow ", words, ": expected RANK:FACTOR, such as 3:2.5"));
  }
  faults.slow.push_back({*rank, *factor});
}

void check_faults(const Faults& faults, int ranks, const Network& network) {
  const int nodes = network.node_of(ranks - 1) + 1;
  const auto check = [](int number, int count, const char* what) {
    if (number >= 0 && number < count) return;
    throw UsageError(text("a fault names ", what, " ", number, ", but there are ", count, " (0 to ",
                          count - 1, ")"));
  };
  const auto check_factor = [](double factor) {
    if (factor > 0) return;
    throw UsageError(text("a fault makes something take ", factor,
                          " times as long; the factor must be above 0"));
  };
  for (const auto& kill : faults.kills) check(kill.rank, ranks, "rank");
  for (const auto& slow : faults.slow) {
    check(slow.rank, ranks, "rank");
    check_factor(slow.slower);
  }
  for (const auto& link : faults.links) {
    const bool of_ranks = link.ends == Faults::Ends::ranks;
    for (const int end : {link.a, link.b}) {
      check(end, of_ranks ? ranks : nodes, of_ranks ? "rank" : "node");
    }
    if (link.a == link.b) throw UsageError(text("a link needs two ends, not ", link.a, " twice"));
    check_factor(link.slower);
  }
  if (!(faults.jitter >= 0 && faults.jitter <= 1000)) {
    throw UsageError(
        text("--jitter ", faults.jitter, ": expected a share of the latency, such as 0.2"));
  }
}

}  // namespace lockstep::sim
