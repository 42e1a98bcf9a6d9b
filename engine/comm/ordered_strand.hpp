// One strand that runs operations in the order they were given: on real processes a thread, on the
// simulator a fiber, whose clock is a communication stream beside the rank's own.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/comm/in_order.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::comm {

// Thread: one strand, the owner's, calls.
class OrderedStrand {
 public:
  using Body = OrderedBody;

  // `strands` and `clock`, by which operations are timed, must outlive it. `name` is the strand's.
  OrderedStrand(Strands& strands, const ProcessGroup& clock, std::string name = "communication")
      : strands_(strands), clock_(clock), name_(std::move(name)) {}
  ~OrderedStrand();
  OrderedStrand(const OrderedStrand&) = delete;
  OrderedStrand& operator=(const OrderedStrand&) = delete;

  // A Work that knows how long the body ran.
  Work start(Body body);
  void run(const Body& body);
  // Nothing is queued or runs.
  bool idle() const;

 private:
  struct Task;
  struct State;
  class Queued;

  Strands& strands_;
  const ProcessGroup& clock_;
  std::string name_;
  std::shared_ptr<State> state_;  // shared with the strand, which may be left behind by an error
  std::unique_ptr<Strand> strand_;
};

}  // namespace lockstep::comm
