// Plays offload_optimizer: a device whose host is the judge, which also says what comes next.
#include "grader/parts/11_sharding/offload_optimizer/case.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

using Event = HostAnswer::Event;
using Kind = HostCall::Kind;

class JudgedHost final : public zero::OffloadHost {
 public:
  explicit JudgedHost(sim::Port& port) : port_(port) {}

  void allocate(const std::string& name, std::int64_t count) override {
    tell(port_, HostCall{.kind = Kind::allocate, .names = {name}, .count = count});
  }
  zero::HostWork copy_down(const Tensor& from, const std::string& name) override {
    return started({.kind = Kind::down,
                    .names = {name},
                    .count = from.numel(),
                    .dtype = from.dtype(),
                    .values = copy_of(from)});
  }
  zero::HostWork copy_up(const std::string& name, const Tensor& to) override {
    return started({.kind = Kind::up, .names = {name}, .count = to.numel(), .dtype = to.dtype()},
                   to);
  }
  zero::HostWork adam(const zero::HostUpdate& update) override {
    return started(
        {.kind = Kind::adam,
         .names = {update.master, update.gradient, update.first_moment, update.second_moment},
         .rule = update.rule,
         .updates = update.updates});
  }
  // Told at once: what the process kept for later would count as the part's memory.
  void tell_after(const std::vector<Tensor>& parameters) {
    for (std::int64_t bucket = 0; bucket < std::ssize(parameters); ++bucket) {
      const Tensor& one = parameters[static_cast<std::size_t>(bucket)];
      tell(port_, HostCall{.kind = Kind::after, .count = bucket, .values = copy_of(one)});
    }
  }
  HostAnswer next() { return ask<HostAnswer>(port_, HostCall{.kind = Kind::next}); }

 private:
  // Fills `to`, if it is one, when it is waited for.
  zero::HostWork started(const HostCall& call, const Tensor& to = {}) {
    const auto ticket = ask<HostAnswer>(port_, call).ticket;
    return zero::HostWork([this, ticket, to] {
      const auto over = ask<HostAnswer>(port_, HostCall{.kind = Kind::wait, .ticket = ticket});
      if (to.defined()) write_bytes(to, over.values);
    });
  }

  sim::Port& port_;
};

struct Shards {
  std::vector<Tensor> parameters, gradients;  // by bucket
};

Shards shards_of(const OffloadCase& c, Device& device) {
  Shards shards;
  for (const Bytes& values : c.parameters) {
    const auto count = static_cast<std::int64_t>(values.size() / bytes_of(c.dtype));
    shards.parameters.push_back(empty({count}, c.dtype, device, MemoryKind::parameters));
    write_bytes(shards.parameters.back(), values);
    // Touched, so that they are a part of what the process holds from the beginning.
    shards.gradients.push_back(zeros({count}, c.dtype, device, MemoryKind::gradients));
  }
  return shards;
}

void train(const OffloadCase& c, Device& device, sim::Port& port) {
  JudgedHost host(port);
  const Shards shards = shards_of(c, device);
  tell(port, HostCall{});
  const auto optimizer = zero::make_offload_optimizer(host, shards.parameters, c.rule());
  while (true) {
    const HostAnswer next = host.next();
    if (next.event == Event::done) return;
    if (next.event == Event::gradient) {
      const Tensor& gradient = shards.gradients.at(next.bucket);
      write_bytes(gradient, next.values);
      optimizer->on_gradient_shard(next.bucket, gradient);
      continue;
    }
    optimizer->step();
    host.tell_after(shards.parameters);
    for (const Tensor& gradient : shards.gradients) gradient.fill_(1);  // they are the caller's
  }
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<OffloadCase>(played.input);
  PoisonDevice device;
  train(c, device, played.port);
  device.require_intact();
  require_released(device, 0);
  return {};
}

}  // namespace lockstep::grader
