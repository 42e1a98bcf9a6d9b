// At which size two all-reduces take equally long, by the closed forms of choose_all_reduce.
//   build/release/bin/crossing ring tree 64          on 64 ranks whose links are all alike
//   build/release/bin/crossing tree ring 64 h100     on 64 ranks of a cluster
// Between one byte and a terabyte there is one such size or none: both times are straight lines
// over the size.
#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/collectives/choose_all_reduce.hpp"
#include "engine/sim/model/cluster.hpp"

namespace {

using namespace lockstep;

constexpr std::array<std::string_view, 5> names{"naive", "ring", "tree", "halving_doubling",
                                                "hierarchical"};

std::size_t place_of(const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw Error("no all-reduce is called " + name);
  return static_cast<std::size_t>(found - names.begin());
}

struct Ground {
  collectives::LinkCosts links;
  int ranks, ranks_per_node;
};

Ground ground_of(const sim::Network& network, int ranks) {
  const int each = network.ranks_per_node > 0 ? network.ranks_per_node : ranks;
  return {{network.within(), network.between}, ranks, std::min(each, ranks)};
}

double seconds(const Ground& ground, std::size_t algorithm, std::int64_t bytes) {
  return collectives::choose_all_reduce(ground.links, ground.ranks, ground.ranks_per_node, bytes)
      .seconds[algorithm];
}

// The first size at which the one that is faster for one byte no longer is.
std::optional<std::int64_t> crossing(const Ground& ground, std::size_t a, std::size_t b) {
  const auto a_leads = [&](std::int64_t bytes) {
    return seconds(ground, a, bytes) < seconds(ground, b, bytes);
  };
  std::int64_t low = 1, high = 1'000'000'000'000;
  const bool at_first = a_leads(low);
  if (a_leads(high) == at_first) return std::nullopt;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (a_leads(middle) == at_first ? low : high) = middle;
  }
  return high;
}

// Three digits: "682 kB", "6.75 MB".
std::string size_text(std::int64_t bytes) {
  std::ostringstream out;
  out << std::setprecision(3);
  const auto size = static_cast<double>(bytes);
  if (size < 999'500) {
    out << size / 1e3 << " kB";
  } else {
    out << size / 1e6 << " MB";
  }
  return out.str();
}

void show(const std::string& a, const std::string& b, const Ground& ground) {
  const std::size_t first = place_of(a), second = place_of(b);
  std::cout << a << " and " << b << " on " << ground.ranks << " ranks: ";
  const auto bytes = crossing(ground, first, second);
  if (bytes) {
    std::cout << "equal at " << size_text(*bytes) << ", "
              << seconds_text(seconds(ground, first, *bytes)) << "\n";
    return;
  }
  const bool first_leads = seconds(ground, first, 1) < seconds(ground, second, 1);
  std::cout << (first_leads ? a : b) << " is faster at every size\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 3 && words.size() != 4) {
    std::cerr << "crossing NAME NAME RANKS [CLUSTER]; names are";
    for (const auto name : names) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  const int ranks = std::stoi(words[2]);
  const Ground ground = words.size() == 3 ? ground_of(sim::Network{}, ranks)
                                          : ground_of(sim::cluster_of(words[3]).network, ranks);
  show(words[0], words[1], ground);
}
