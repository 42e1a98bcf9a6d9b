// Messages between the ranks of a host. The sender copies the elements into a block of its arena
// and hangs it into the list of its pair; the receiver copies them out and says that the block may
// go back. Sending therefore never waits, and nothing needs a thread of its own.
//
// Invariants
//   1. A pair's list is in the order of sending. The receiver follows it and sorts by tag, so
//      messages of one tag keep that order.
//   2. A block is its sender's again when the receiver has taken the elements and knows the next
//      message; the elements, where they are large, as soon as they are taken.
//   3. Receives of one pair and tag get messages in the order in which they were posted, whatever
//      the order in which they are waited for.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/peers.hpp"
#include "engine/comm/worlds/shm/membership.hpp"

namespace lockstep::comm::shm {

// Both ends of a message and their disagreement.
struct Mismatch {
  std::string what;
};

class Messages {
 public:
  explicit Messages(Membership& membership);
  ~Messages();  // what was sent stays until all ranks have left
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  // Throws CommError when the memory is spent.
  void send(const Tensor& data, int dst, int tag, const Where& where);

  // A receive that was posted.
  struct Ticket {
    int src, tag;
    std::uint64_t number;  // of its pair and tag
  };
  Ticket post(int src, int tag);
  // Waits for the message and copies it; asks `doing` for a sentence on it when it takes long.
  // Throws Lost, or Mismatch, which names both ends.
  void receive(const Ticket& ticket, const Tensor& data, const std::function<std::string()>& doing,
               double timeout_s);
  // The message will not be taken.
  void drop(const Ticket& ticket);

 private:
  struct Node;
  struct Sent {
    std::uint64_t node, elements;  // elements: 0 where they are in the node's block, or given back
  };
  struct Outbox {
    std::uint64_t last = 0;
    std::deque<Sent> sent;
    std::size_t sweep_at = 64;
  };
  struct Line {  // of one source and tag
    std::uint64_t posted = 0, arrived = 0;
    std::map<std::uint64_t, std::uint64_t> waiting;  // number → node
    std::vector<std::uint64_t> dropped;
  };

  Node& node(std::uint64_t offset) const;
  std::uint64_t make_node(const Tensor& data, Sent& sent);
  void sweep(Outbox& outbox);
  void follow(int src);
  void take(int src, std::uint64_t offset);
  std::uint64_t find(const Ticket& ticket);

  Membership& membership_;
  std::mutex mutex_;                           // guards all below
  std::vector<Outbox> outboxes_;               // by destination
  std::vector<std::uint64_t> last_seen_;       // by source: the node that was followed last
  std::map<std::pair<int, int>, Line> lines_;  // by source and tag
};

}  // namespace lockstep::comm::shm
