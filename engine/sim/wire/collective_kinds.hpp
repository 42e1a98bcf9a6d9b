// The kinds of collectives and what is true of each: one table, so that whoever carries one out,
// prices it or tells of it asks what it wants to know, and not which kind it is.
//
//   N ranks. *One* part is n elements; a part for *each* rank, or of each, is N·n (of an
//   all_to_all the parts may differ).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::sim {

enum class Collective : std::uint8_t {
  broadcast,
  reduce,
  all_reduce,
  gather,
  scatter,
  all_gather,
  reduce_scatter,
  all_to_all,
  barrier
};

enum class Ranks : std::uint8_t { none, root, all };
enum class Parts : std::uint8_t { none, one, each };

struct CollectiveTraits {
  std::string_view name;
  Ranks givers;  // who brings data, and how much
  Parts given;
  Ranks takers;  // who gets data, and how much
  Parts taken;
  bool reduces;  // what all bring becomes one; otherwise data move as they are

  constexpr bool has_root() const { return givers == Ranks::root || takers == Ranks::root; }
  constexpr bool gives(int rank, int root) const {
    return givers == Ranks::all || (givers == Ranks::root && rank == root);
  }
  constexpr bool takes(int rank, int root) const {
    return takers == Ranks::all || (takers == Ranks::root && rank == root);
  }
  // True if a rank brings and gets the same memory.
  constexpr bool in_place() const { return given == Parts::one && taken == Parts::one; }
  // Every rank has something else for each other rank.
  constexpr bool is_exchange() const { return given == Parts::each && taken == Parts::each; }
};

// In the order of the kinds.
constexpr std::array<CollectiveTraits, 9> collective_traits{{
    {"broadcast", Ranks::root, Parts::one, Ranks::all, Parts::one, false},
    {"reduce", Ranks::all, Parts::one, Ranks::root, Parts::one, true},
    {"all_reduce", Ranks::all, Parts::one, Ranks::all, Parts::one, true},
    {"gather", Ranks::all, Parts::one, Ranks::root, Parts::each, false},
    {"scatter", Ranks::root, Parts::each, Ranks::all, Parts::one, false},
    {"all_gather", Ranks::all, Parts::one, Ranks::all, Parts::each, false},
    {"reduce_scatter", Ranks::all, Parts::each, Ranks::all, Parts::one, true},
    {"all_to_all", Ranks::all, Parts::each, Ranks::all, Parts::each, false},
    {"barrier", Ranks::none, Parts::none, Ranks::none, Parts::none, false},
}};

constexpr const CollectiveTraits& traits_of(Collective collective) {
  return collective_traits.at(static_cast<std::size_t>(collective));
}
constexpr std::string_view name_of(Collective collective) { return traits_of(collective).name; }

}  // namespace lockstep::sim
