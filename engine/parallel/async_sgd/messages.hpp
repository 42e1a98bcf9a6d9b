// What workers and servers tell each other beside parameters and gradients: four numbers a message,
// in memory of the host, also where parameters are elsewhere or have no numbers.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::async_sgd {

// What a worker asks for.
enum class Ask : std::uint8_t {
  pull,    // the parameters as they are
  push,    // an update; the parameters when the worker may go on
  norm,    // between push and answer: the norm of the whole mean is `number`
  settle,  // the parameters when every active worker has finished as many steps as this one; or
           // Told::settled is 0, when anything else has happened: then it asks again
  state,   // the parameters, and the state of the optimizer
  finish,  // nothing: the worker takes no more steps
};

struct Asked {
  Ask ask = Ask::pull;
  double rate = 0;
  double loss = 0;
  double number = 0;
};
struct Told {
  std::int64_t version = 0;
  std::int64_t staleness = 0;  // of this worker's last push
  double number = 0;  // push: with S = 0 the mean of the losses; norm: the square of a norm
  double settled = 1;
};

// Both directions of one pair. A message is on its way at a time, so one tensor is enough each.
class Words {
 public:
  // `host`: a device with numbers in this process. A message may outlive its sender, so the device
  // must outlive the groups.
  explicit Words(Device& host)
      : out_(zeros({4}, DType::float64, host)), in_(zeros({4}, DType::float64, host)) {}

  Tensor put(const Asked& asked) const {
    return write({static_cast<double>(asked.ask), asked.rate, asked.loss, asked.number});
  }
  Tensor put(const Told& told) const {
    return write({static_cast<double>(told.version), static_cast<double>(told.staleness),
                  told.number, told.settled});
  }
  const Tensor& room() const { return in_; }
  Asked asked() const {
    return {static_cast<Ask>(in_.item(0)), in_.item(1), in_.item(2), in_.item(3)};
  }
  Told told() const {
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
