// The case format of parameter_server, shared by adapter and exam, and what the adapter asks of the
// judge: as a server, what workers ask, and as a worker, parameters. The judge is everybody else.
#pragma once

#include <vector>

#include "engine/parallel/async_sgd/parameter_server.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// The function that the player calls: serve() or work().
enum class LoopForm : std::uint8_t { serves, works };

struct LoopsCase {
  LoopForm form = LoopForm::serves;
  int workers = 1;
  std::int64_t staleness = 0;
  std::vector<double> parameters{};  // [n]
  double momentum = 0, decay = 0;    // of the server's optimizer
  int steps = 0;                     // of work()
};

constexpr std::size_t loop_values_max = 1000;  // in a message

// A report of what serve() does. It is answered with a ServerReply.
struct ServerCall {
  static constexpr const char* service = "workers";
  enum class Kind : std::uint8_t { next, answer, returned };
  Kind kind = Kind::next;
  int worker = 0;                // answer
  std::uint32_t updates = 0;     // next: made so far
  std::vector<double> values{};  // answer: the parameters; returned: those at the end
};
struct ServerReply {
  std::uint8_t stop = 0;  // 1: the case is decided, and the part is left
  async_sgd::Request::Kind kind = async_sgd::Request::Kind::pull;
  int worker = 0;
  double rate = 0;
  std::vector<double> gradient{};  // [n] of a push
};

// A report of what work() does. It is answered with a WorkerReply.
struct WorkerCall {
  static constexpr const char* service = "servers";
  enum class Kind : std::uint8_t { pull, gradient, push, returned };
  Kind kind = Kind::pull;
  std::vector<double>
      values{};  // gradient: the parameters that it is computed at; push: what comes
};
struct WorkerReply {
  std::uint8_t stop = 0;
  std::vector<double> values{};  // [n]: parameters, or the gradient
};

template <typename Archive>
void fields(Archive& archive, LoopsCase& c) {
  archive(c.form, c.workers, c.staleness, c.parameters, c.momentum, c.decay, c.steps);
}
template <typename Archive>
void fields(Archive& archive, ServerCall& call) {
  archive(call.kind, call.worker, call.updates, call.values);
}
inline void check_fields(ServerCall& call) {
  if (call.kind > ServerCall::Kind::returned || call.values.size() > loop_values_max) {
    throw MalformedMessage("no call of a server");
  }
}
template <typename Archive>
void fields(Archive& archive, ServerReply& reply) {
  archive(reply.stop, reply.kind, reply.worker, reply.rate, reply.gradient);
}
template <typename Archive>
void fields(Archive& archive, WorkerCall& call) {
  archive(call.kind, call.values);
}
inline void check_fields(WorkerCall& call) {
  if (call.kind > WorkerCall::Kind::returned || call.values.size() > loop_values_max) {
    throw MalformedMessage("no call of a worker");
  }
}
template <typename Archive>
void fields(Archive& archive, WorkerReply& reply) {
  archive(reply.stop, reply.values);
}

}  // namespace lockstep::grader
