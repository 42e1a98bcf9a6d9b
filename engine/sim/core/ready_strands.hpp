// Strands that can go on, and in which order they do. Internal to engine/sim.
//
// Ranks are taken in blocks of neighbours: those of a block run by turns until none of them can go
// on, then the next block's. Neighbours talk to each other most, and what a few dozen ranks touch
// stays in the processor's cache, where that of thousands would have to be fetched each time. The
// seed says which block and which rank of a block comes first; by seed 0 they come in their order,
// which costs the fewest turns where ranks wait for the one below.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::sim {

class ReadyStrands {
 public:
  static constexpr int block_ranks = 64;

  ReadyStrands(int ranks, std::uint64_t seed)
      : blocks_(static_cast<std::size_t>((ranks + block_ranks - 1) / block_ranks)),
        place_(static_cast<std::size_t>(ranks)) {
    const auto places = [seed](std::int64_t count, std::int64_t first) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      return seed == 0 ? order
                       : random_permutation(count, seed + static_cast<std::uint64_t>(first));
    };
    by_rank_.resize(blocks_.size() * block_ranks, -1);
    const auto of_block = places(static_cast<std::int64_t>(blocks_.size()), 0);
    for (int first = 0; first < ranks; first += block_ranks) {
      const auto block = of_block[static_cast<std::size_t>(first / block_ranks)];
      int rank = first;
      for (const std::int64_t place : places(std::min(block_ranks, ranks - first), first)) {
        const std::int64_t at = block * block_ranks + place;
        place_[static_cast<std::size_t>(rank)] = static_cast<int>(at);
        by_rank_[static_cast<std::size_t>(at)] = rank++;
      }
    }
  }

  // The rank's place among equals: the lowest comes first.
  int place_of(int rank) const { return place_[static_cast<std::size_t>(rank)]; }

  // All ranks, as they come.
  std::vector<int> order() const {
    std::vector<int> ranks = by_rank_;
    std::erase(ranks, -1);
    return ranks;
  }

  bool empty() const { return waiting_ == 0; }

  void add(Actor actor) {
    const auto place = static_cast<std::size_t>(place_of(actor.rank));
    Block& block = blocks_[place / block_ranks];
    ++waiting_;
    if (actor.strand == 0) {
      block.mains |= std::uint64_t{1} << place % block_ranks;
    } else {
      block.others.push_back(actor);
    }
  }

  void remove(int rank) {
    const auto place = static_cast<std::size_t>(place_of(rank));
    Block& block = blocks_[place / block_ranks];
    const std::uint64_t main = std::uint64_t{1} << place % block_ranks;
    if ((block.mains & main) != 0) --waiting_;
    block.mains &= ~main;
    waiting_ -= std::erase_if(block.others, [&](Actor other) { return other.rank == rank; });
  }

  // The strand 0 that comes next; nobody where other strands of its block are ready too.
  std::optional<Actor> take_main() {
    if (empty()) return std::nullopt;
    go_to_next_block();
    Block& block = blocks_[current_];
    if (!block.others.empty()) return std::nullopt;
    const std::uint64_t ahead = block.mains >> place_in_block_ << place_in_block_;
    place_in_block_ = std::countr_zero(ahead != 0 ? ahead : block.mains);
    block.mains ^= std::uint64_t{1} << place_in_block_;
    --waiting_;
    return Actor{by_rank_[current_ * block_ranks + static_cast<std::size_t>(place_in_block_)], 0};
  }

  // The next ones, all of one block.
  void take(std::vector<Actor>& next) {
    next.clear();
    if (empty()) return;
    go_to_next_block();
    Block& block = blocks_[current_];
    for (; block.mains != 0; block.mains &= block.mains - 1) {
      const auto place =
          current_ * block_ranks + static_cast<std::size_t>(std::countr_zero(block.mains));
      next.push_back({by_rank_[place], 0});
    }
    if (!block.others.empty()) {
      next.insert(next.end(), block.others.begin(), block.others.end());
      block.others.clear();
      std::sort(next.begin(), next.end(), [&](Actor a, Actor b) {
        return std::pair(place_of(a.rank), a.strand) < std::pair(place_of(b.rank), b.strand);
      });
    }
    waiting_ -= next.size();
  }

 private:
  struct Block {
    std::uint64_t mains = 0;      // by place: its strand 0 is ready
    std::vector<Actor> others{};  // strands besides
    bool empty() const { return mains == 0 && others.empty(); }
  };
  void go_to_next_block() {
    while (blocks_[current_].empty()) current_ = (current_ + 1) % blocks_.size();
  }

  std::vector<Block> blocks_;  // in the seed's order
  std::vector<int> place_;     // by rank
  std::vector<int> by_rank_;   // rank, by place
  std::size_t current_ = 0, waiting_ = 0;
  int place_in_block_ = 0;  // of who was taken last
};

}  // namespace lockstep::sim
