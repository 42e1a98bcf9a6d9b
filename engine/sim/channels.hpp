// Messages that wait for their other side, by channel (group, source, destination, tag). Internal
// to engine/sim.
#pragma once

#include <tuple>
#include <unordered_map>

#include "engine/sim/operation.hpp"

namespace lockstep::sim {

// First in, first out; its room is kept when it is empty.
class OperationQueue {
 public:
  bool empty() const { return first_ == operations_.size(); }
  void push(OperationPtr operation) { operations_.push_back(std::move(operation)); }
  OperationPtr pop() {
    OperationPtr front = std::move(operations_[first_++]);
    if (empty()) {
      operations_.clear();
      first_ = 0;
    }
    return front;
  }
  std::span<const OperationPtr> waiting() const { return std::span(operations_).subspan(first_); }

 private:
  std::vector<OperationPtr> operations_;
  std::size_t first_ = 0;
};

// Holds waiting sends or waiting receives, never both: they would have been matched.
struct Channel {
  OperationQueue sends, receives;
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

  const auto& all() const { return all_; }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const auto high = static_cast<std::uint64_t>(key.src) << 32 | static_cast<unsigned>(key.dst);
      const auto low = std::uint64_t{key.group} << 32 | static_cast<unsigned>(key.tag);
      const std::uint64_t mixed = (high ^ low * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
      return mixed ^ mixed >> 32;
    }
  };
  struct Last {
    Key key{0, -1, -1, 0};
    Channel* channel = nullptr;
  };
  Channel& of(const Key& key, Last& last) {
    if (!(last.key == key)) last = {key, &all_[key]};
    return *last.channel;
  }

  std::unordered_map<Key, Channel, Hash> all_;   // its nodes stay where they are
  std::vector<Last> last_sent_, last_received_;  // by rank
};

}  // namespace lockstep::sim
