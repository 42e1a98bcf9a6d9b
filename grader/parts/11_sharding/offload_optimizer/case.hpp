// The case format of offload_optimizer, shared by adapter and exam. The host is the judge: each
// copy, update and wait is a request, so it knows what crossed the link, and when. So is what comes
// next: a gradient, or a step.
#pragma once

#include <algorithm>

#include "engine/parallel/zero/offload_optimizer.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct OffloadCase {
  DType dtype = DType::float16;
  double learning_rate = 0, weight_decay = 0;
  std::vector<Bytes> parameters{};  // by bucket

  AdamRule rule() const { return {.learning_rate = learning_rate, .weight_decay = weight_decay}; }
};
template <typename Archive>
void fields(Archive& archive, OffloadCase& c) {
  archive(c.dtype, c.learning_rate, c.weight_decay, c.parameters);
}

struct HostCall {
  static constexpr const char* service = "host";
  enum class Kind : std::uint8_t {
    ready,     // all that the adapter needs is made; the optimizer comes next
    next,      // answered with the next event
    allocate,  // names.front(), `count`
    down,      // `values` of `dtype` into names.front()
    up,        // names.front() as `dtype`
    adam,      // names: master, gradient, first and second moment
    wait,      // for what was started as `ticket`
    after,     // a step: `values` are the parameters of bucket `count`
  };
  Kind kind = Kind::ready;
  std::vector<std::string> names{};
  std::int64_t count = 0;
  DType dtype = DType::float32;
  Bytes values{};
  AdamRule rule{};
  std::int64_t updates = 0;
  std::uint64_t ticket = 0;
};
template <typename Archive>
void fields(Archive& archive, HostCall& call) {
  archive(call.kind, call.names, call.count, call.dtype, call.values, call.rule.learning_rate,
          call.rule.beta1, call.rule.beta2, call.rule.epsilon, call.rule.weight_decay,
          call.rule.decay_form, call.updates, call.ticket);
}
inline void check_fields(HostCall& call) {
  if (call.kind > HostCall::Kind::after) throw MalformedMessage("no such call of a host");
  const auto is_long = [](const std::string& name) { return name.size() > 200; };
  if (call.names.size() > 4 || std::ranges::any_of(call.names, is_long)) {
    throw MalformedMessage("no names of tensors");
  }
}

struct HostAnswer {
  enum class Event : std::uint8_t { gradient, step, done };
  Event event = Event::done;
  std::uint32_t bucket = 0;
  std::uint64_t ticket = 0;
  Bytes values{};  // of a gradient, or of a copy up that is over
};
template <typename Archive>
void fields(Archive& archive, HostAnswer& answer) {
  archive(answer.event, answer.bucket, answer.ticket, answer.values);
}

}  // namespace lockstep::grader
