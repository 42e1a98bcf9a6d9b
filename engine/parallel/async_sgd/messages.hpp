// The messages between a worker and a server, besides parameters and gradients. A message is four
// numbers in host memory, even if the parameters are on a GPU or have no numbers.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::async_sgd {

// The requests of a worker, and what the server sends back.
enum class Ask : std::uint8_t {
  pull,    // the parameters as they are
  push,    // an update; the parameters when the worker may go on
  norm,    // between push and answer: the norm of the whole mean is `number`
  settle,  // the parameters when every active worker has finished as many steps as this one; or
           // ServerMessage::settled is 0 if something else happened first, and the worker asks
           // again
  state,   // the parameters, and the state of the optimizer
  finish,  // nothing: the worker takes no more steps
};

struct WorkerMessage {
  Ask ask = Ask::pull;
  double rate = 0;
  double loss = 0;
  double number = 0;
};
struct ServerMessage {
  std::int64_t version = 0;
  std::int64_t staleness = 0;  // of this worker's last push
  double number = 0;  // push: with S = 0 the mean of the losses; norm: the square of a norm
  double settled = 1;
};

// Buffers for both directions of one pair. Only one message is in flight at a time, so one tensor
// per direction is enough.
class MessageBuffers {
 public:
  // `host` is a device with numbers in this process. A message may outlive its sender, so the
  // device must outlive the groups.
  explicit MessageBuffers(Device& host)
      : out_(zeros({4}, DType::float64, host)), in_(zeros({4}, DType::float64, host)) {}

  Tensor put(const WorkerMessage& message) const {
    return write({static_cast<double>(message.ask), message.rate, message.loss, message.number});
  }
  Tensor put(const ServerMessage& message) const {
    return write({static_cast<double>(message.version), static_cast<double>(message.staleness),
                  message.number, message.settled});
  }
  const Tensor& receive_buffer() const { return in_; }
  WorkerMessage worker_message() const {
    return {static_cast<Ask>(in_.item(0)), in_.item(1), in_.item(2), in_.item(3)};
  }
  ServerMessage server_message() const {
    return {static_cast<std::int64_t>(in_.item(0)), static_cast<std::int64_t>(in_.item(1)),
            in_.item(2), in_.item(3)};
  }

 private:
  Tensor write(const std::vector<double>& numbers) const {
    for (std::size_t i = 0; i < numbers.size(); ++i) out_.data<double>()[i] = numbers[i];
    return out_;
  }
  Tensor out_, in_;
};

}  // namespace lockstep::async_sgd
