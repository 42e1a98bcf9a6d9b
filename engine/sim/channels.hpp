// Messages that wait for their other side, by channel (group, source, destination, tag). Internal
// to engine/sim.
#pragma once

#include <unordered_map>

#include "engine/sim/operation.hpp"

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

  template <typename Visit>
  void each_waiting_send(Visit visit) const {
    for (const auto& [key, channel] : all_) {
      if (!channel.has_sends()) continue;
      for (const Operation* send = channel.first(); send != nullptr; send = send->next) {
        visit(*send);
      }
    }
  }

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
