// The ports of all ranks and the network cards of all nodes: when a message leaves, and when it
// arrives. Internal to engine/sim.
//
// A card that is described (Network::cards_per_node) carries one message at a time in each
// direction: out of its node in the order in which they are ready, into its node in the order in
// which their first bytes come. The last byte arrives when the sender's card has sent it and the
// link has carried it, or when the receiver's card has taken it after all before it, whichever is
// later; so a message that meets no other takes as long as one between two ports of their own.
//
// Invariant: messages of one port or card come in the order in which they take it. Those of a
// rank's own port follow from that rank alone; those of a card do not, and so the core goes by
// virtual time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sim/model/network.hpp"

namespace lockstep::sim {

// The effect of a fault on a link, as factors.
struct LinkChange {
  double slower = 1;  // of all that it takes
  double latency = 1;
};

class Links {
 public:
  Links(const Network& network, int ranks)
      : classes_{network.within(), network.between},
        one_node_(ranks == 0 || network.node_of(ranks - 1) == 0),
        cards_(!one_node_ && network.cards_per_node > 0),
        free_s_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      node_.push_back(network.node_of(rank));
      if (cards_) card_.push_back(network.card_of(rank));
    }
    if (cards_) card_free_s_.resize(static_cast<std::size_t>(card_.back()) + 1);
  }

  struct Passage {
    double begin_s, sent_s, arrived_s;
    bool leaves_node;
  };

  bool have_cards() const { return cards_; }
  // True if the way leads over cards.
  bool over_cards(int src, int dst) const { return cards_ && leaves(src, dst); }

  // The message may go from `ready_s` on, when both sides are posted.
  //   Requires  not over_cards(src, dst)
  Passage pass(int src, int dst, std::int64_t bytes, double ready_s,
               const LinkChange& change = {}) {
    const bool crosses = leaves(src, dst);
    const Link& link = classes_[crosses];
    double& free_s = free_s_[static_cast<std::size_t>(src)][crosses];
    const double begin = std::max(ready_s, free_s);
    free_s = begin + change.slower * occupied_s(link, bytes);
    return {begin, free_s, free_s + change.slower * change.latency * link.latency_s, crosses};
  }

  // Over cards: out of the sender's node, and then, at `first_byte_s`, into the receiver's, where
  // the last byte comes at `last_byte_s` if there is nothing before it.
  struct Departure {
    double begin_s, sent_s, first_byte_s, last_byte_s;
  };
  Departure depart(int src, std::int64_t bytes, double ready_s, const LinkChange& change = {}) {
    const Link& link = classes_[1];
    double& free_s = card_free_s_[card_of(src)].out;
    const double begin = std::max(ready_s, free_s);
    const double on_its_way_s = change.slower * change.latency * link.latency_s;
    free_s = begin + change.slower * occupied_s(link, bytes);
    return {begin, free_s, begin + on_its_way_s, free_s + on_its_way_s};
  }
  // When all of it is there.
  double arrive(int dst, std::int64_t bytes, double last_byte_s) {
    double& free_s = card_free_s_[card_of(dst)].in;
    free_s = std::max(last_byte_s, free_s + occupied_s(classes_[1], bytes));
    return free_s;
  }

 private:
  struct Card {
    double out = 0, in = 0;  // when it is idle
  };
  bool leaves(int src, int dst) const {
    return !one_node_ &&
           node_[static_cast<std::size_t>(src)] != node_[static_cast<std::size_t>(dst)];
  }
  std::size_t card_of(int rank) const {
    return static_cast<std::size_t>(card_[static_cast<std::size_t>(rank)]);
  }
  static double occupied_s(const Link& link, std::int64_t bytes) {
    return link.gap_s + static_cast<double>(bytes) / link.bandwidth_bytes_s;
  }

  std::array<Link, 2> classes_;  // within a node, between nodes
  bool one_node_, cards_;
  std::vector<int> node_, card_;               // by rank
  std::vector<std::array<double, 2>> free_s_;  // by rank: when its ports are idle
  std::vector<Card> card_free_s_;
};

}  // namespace lockstep::sim
