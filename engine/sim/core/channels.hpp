// Messages that wait for their other side, by channel (group, source, destination, tag). Internal
// to engine/sim.
#pragma once

#include <utility>
#include <vector>

#include "engine/sim/core/operation.hpp"

namespace lockstep::sim {

// Waiting sends or waiting receives, first in, first out; never both: they would have been matched.
class Channel {
 public:
  bool has_sends() const { return first_ != nullptr && sends_; }
  bool has_receives() const { return first_ != nullptr && !sends_; }
  const Operation* first() const { return first_; }

  void push(OperationPtr operation) {
    sends_ = operation->request.op == Op::send || operation->request.op == Op::isend;
    operation->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = operation.get();
    last_ = operation.detach();
  }
  OperationPtr pop() {
    Operation* front = first_;
    first_ = front->next;
    return OperationPtr::from_detached(front);
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  bool sends_ = false;
};

class Channels {
 public:
  struct Key {
    std::uint32_t group;
    int src, dst, tag;  // src, dst: global ranks
    bool operator==(const Key&) const = default;
  };

  explicit Channels(std::size_t ranks) : last_sent_(ranks), last_received_(ranks) {}

  // The one that a rank asked for last is found without a search.
  Channel& of_send(const Key& key) {
    return of(key, last_sent_[static_cast<std::size_t>(key.src)]);
  }
  Channel& of_receive(const Key& key) {
    return of(key, last_received_[static_cast<std::size_t>(key.dst)]);
  }

  template <typename Visit>  // sends and receives
  void each_waiting(Visit visit) const {
    for (const Place& place : places_) {
      for (const Operation* one = place.channel.first(); one != nullptr; one = one->next) {
        visit(*one);
      }
    }
  }

 private:
  // A table of a power of two of places, at most half of them taken: a channel lies where its key
  // says, or in the next place that was free. There are as many as pairs of ranks that talk.
  struct Place {
    Key key{0, -1, -1, 0};  // of no channel
    Channel channel{};
  };
  struct Last {
    Key key{0, -1, -1, 0};
    Channel* channel = nullptr;
  };
  Channel& of(const Key& key, Last& last) {
    if (!(last.key == key)) last = {key, &found(key).channel};
    return *last.channel;
  }
  Place& found(const Key& key) {
    Place* place = &place_of(key);
    if (place->key == key) return *place;
    if (2 * ++taken_ > places_.size()) {
      grow();
      place = &place_of(key);
    }
    place->key = key;
    return *place;
  }
  Place& place_of(const Key& key) {  // where it is, or would be
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash_of(key) & mask;
    while (places_[at].key.src >= 0 && !(places_[at].key == key)) at = (at + 1) & mask;
    return places_[at];
  }
  void grow() {
    const std::vector<Place> before =
        std::exchange(places_, std::vector<Place>(2 * places_.size()));
    for (const Place& place : before) {
      if (place.key.src >= 0) place_of(place.key) = place;
    }
    for (auto* lasts : {&last_sent_, &last_received_}) lasts->assign(lasts->size(), {});
  }
  static std::size_t hash_of(const Key& key) {
    const auto high = static_cast<std::uint64_t>(key.src) << 32 | static_cast<unsigned>(key.dst);
    const auto low = std::uint64_t{key.group} << 32 | static_cast<unsigned>(key.tag);
    const std::uint64_t mixed = (high ^ low * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
    return mixed ^ mixed >> 32;
  }

  std::vector<Place> places_ = std::vector<Place>(64);
  std::size_t taken_ = 0;
  std::vector<Last> last_sent_, last_received_;  // by rank
};

}  // namespace lockstep::sim
