// Plays parameter_server: the line between the part and the judge, which is all of its workers, or
// all of its servers. Buffers are used as in the engine: an answer goes into the buffer in which
// the push of that worker was, and a gradient is where the pulled parameters were.
#include "grader/parts/09_asynchronous/parameter_server/case.hpp"

#include <algorithm>

#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

// The case is over, in the middle of the part.
struct Stop {};

std::vector<double> values_in(const Tensor& tensor) {
  std::vector<double> values;
  if (!tensor.defined()) return values;
  const std::int64_t count = std::min<std::int64_t>(tensor.numel(), loop_values_max);
  for (std::int64_t i = 0; i < count; ++i) values.push_back(tensor.item(i));
  return values;
}

Tensor tensor_of(const std::vector<double>& values, Device& device) {
  return from_values(values, {std::ssize(values)}, DType::float64, device);
}

void put(const std::vector<double>& values, const Tensor& buffer) {
  std::ranges::copy(values, buffer.data<double>().begin());
}

template <typename Reply, typename Call>
Reply ask_or_stop(sim::Port& port, const Call& call) {
  const auto reply = ask<Reply>(port, call);
  if (reply.stop) throw Stop();
  return reply;
}

class JudgesWorkers final : public async_sgd::Workers {
 public:
  JudgesWorkers(sim::Port& port, int workers, const Tensor& parameters) : port_(port) {
    for (int w = 0; w < workers; ++w) buffers_.push_back(parameters.clone());
  }

  int size() const override { return static_cast<int>(buffers_.size()); }
  async_sgd::Request next() override {
    const auto reply = ask_or_stop<ServerReply>(port_, ServerCall{.updates = updates_});
    async_sgd::Request request{.kind = reply.kind, .worker = reply.worker};
    if (reply.kind != async_sgd::Request::Kind::push) return request;
    request.gradient = buffers_.at(static_cast<std::size_t>(reply.worker));
    put(reply.gradient, request.gradient);
    request.rate = reply.rate;
    return request;
  }
  void answer(int worker, const Tensor& parameters) override {
    ask_or_stop<ServerReply>(port_, ServerCall{.kind = ServerCall::Kind::answer,
                                               .worker = worker,
                                               .values = values_in(parameters)});
    buffers_.at(static_cast<std::size_t>(worker)).copy_(parameters);
  }
  void note_update() { ++updates_; }

 private:
  sim::Port& port_;
  std::vector<Tensor> buffers_;  // by worker
  std::uint32_t updates_ = 0;
};

void play_server(sim::Port& port, const LoopsCase& c, Device& device) {
  const Tensor parameters = tensor_of(c.parameters, device);
  const Tensor velocity = tensor_of(std::vector<double>(c.parameters.size()), device);
  JudgesWorkers workers(port, c.workers, parameters);
  const auto update = [&](const Tensor& gradient, double rate) {
    workers.note_update();
    velocity.scale_(c.momentum);
    velocity.reduce_(gradient, ReduceOp::sum);
    const Tensor decayed = parameters.clone();  // no rate does to it what a smaller gradient does
    decayed.scale_(c.decay);
    velocity.reduce_(decayed, ReduceOp::sum);
    const Tensor step = velocity.clone();
    step.scale_(-rate);
    parameters.reduce_(step, ReduceOp::sum);
  };
  async_sgd::serve(workers, parameters, {.staleness = c.staleness, .update = update});
  ask<ServerReply>(port,
                   ServerCall{.kind = ServerCall::Kind::returned, .values = values_in(parameters)});
}

class JudgesServers final : public async_sgd::Servers {
 public:
  JudgesServers(sim::Port& port, const Tensor& buffer) : port_(port), buffer_(buffer) {}

  Tensor pull() override {
    put(ask_or_stop<WorkerReply>(port_, WorkerCall{}).values, buffer_);
    return buffer_;
  }
  void push(const Tensor& gradient) override {
    ask_or_stop<WorkerReply>(port_, WorkerCall{WorkerCall::Kind::push, values_in(gradient)});
    buffer_.fill_(-1);
  }

 private:
  sim::Port& port_;
  Tensor buffer_;
};

void play_worker(sim::Port& port, const LoopsCase& c, Device& device) {
  const Tensor buffer = tensor_of(c.parameters, device);
  JudgesServers servers(port, buffer);
  const auto gradient = [&](const Tensor& parameters) {
    const WorkerCall call{WorkerCall::Kind::gradient, values_in(parameters)};
    put(ask_or_stop<WorkerReply>(port, call).values, buffer);
    return buffer;
  };
  async_sgd::work(servers, gradient, c.steps);
  ask<WorkerReply>(port, WorkerCall{WorkerCall::Kind::returned});
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<LoopsCase>(played.input);
  PoisonDevice device;
  try {
    if (c.form == LoopForm::works) {
      play_worker(played.port, c, device);
    } else {
      play_server(played.port, c, device);
    }
  } catch (const Stop&) {  // what is to be said, the judge knows
  }
  return {};
}

}  // namespace lockstep::grader
