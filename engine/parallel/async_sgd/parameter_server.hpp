// A parameter server and its workers, as two loops. The server keeps the parameters; workers
// compute gradients from copies. A worker waits for the server, and never for another worker.
//
//     worker                          server
//       pull  ----------------------->
//             <-----------------------  answers with the parameters
//       computes a gradient
//       push  ----------------------->  updates the parameters
//       pull  ----------------------->
//       …     <-----------------------  answers with the parameters
//       finish  --------------------->  expects nothing more from this worker
//
//   W workers, n elements of the parameters, S the bound on staleness
//
// The loops see requests and answers, but no messages. A lost worker must not end the run for the
// others, so each worker forms a group of its own with its server. A group cannot receive from
// another group's ranks, so the engine receives from all groups at once (server.hpp). The engine
// also holds a pull back until may_start() lets its worker go on (bounded_staleness.hpp), so
// neither loop has to.
//
// Source: [LAP14] §3 (push, pull), [DCM12] §4.1 (asynchronous SGD)
#pragma once

#include <cstdint>
#include <functional>

#include "engine/tensor/tensor.hpp"

namespace lockstep::async_sgd {

// A worker's request to its server, or the news that it has left.
struct Request {
  enum class Kind : std::uint8_t {
    pull,    // the worker waits for the parameters
    push,    // `gradient` for an update; the worker waits for nothing
    finish,  // the worker takes no more steps
    lost,    // the worker is gone; what it pushed before counts
  };
  Kind kind = Kind::pull;
  int worker = 0;  // 0 to W - 1
  // push: [n], which the server may overwrite. It stays valid until a pull of this worker is
  // answered.
  Tensor gradient{};
  double rate = 0;  // push: the learning rate of the worker's step
};

// The server's connection to all of its workers.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual int size() const = 0;  // W, and stays W when workers leave
  // The next request of any worker. Waits until there is one. Requests of one worker come in the
  // order in which it makes them; after finish or lost, no more come from it.
  //   Throws  ContractError when all workers have left: nothing would ever come
  virtual Request next() = 0;
  // The parameters [n] for a worker whose pull next() has returned; they are copied at once.
  //   Comm    4·n bytes to the worker, of float32
  //   Throws  ContractError for a worker that waits for no answer
  virtual void answer(int worker, const Tensor& parameters) = 0;
};

struct ServeOptions {
  std::int64_t staleness = 0;  // S; unbounded: none
  // Makes one update of the parameters from `gradient` [n], which it may overwrite.
  std::function<void(const Tensor& gradient, double rate)> update{};
};

// The server's loop: takes requests until every worker has finished or is lost.
//   parameters  [n], changed by options.update alone
//   pull        is answered at once with the current parameters, never in the middle of an update
//   push, S > 0 is an update of its own, made before the next request is taken: the gradient times
//               1/W. W includes workers that have left
//   push, S = 0 is kept for its round. A round is complete when each worker has pushed or left;
//               then there is one update with the mean of the round's pushes: each times 1/(number
//               of pushes), then added in the order of workers, so that it does not depend on which
//               came first. The rate is the same in all. Without a push there is no update
//   lost        is no error: the others go on, and the lost worker's push stays in the round
//   Comm        a step of a worker: 4·n bytes to the server and 4·n back, of float32
//   Source      [LAP14] §3, [DCM12] §4.1
void serve(Workers& workers, const Tensor& parameters, const ServeOptions& options);

// A worker's connection to the servers, each of which holds a part of the parameters.
class Servers {
 public:
  virtual ~Servers() = default;
  // The newest parameters [n]; they stay valid until gradient() or push() is called. Waits for the
  // servers, and until the bound on staleness lets the worker go on.
  virtual Tensor pull() = 0;
  virtual void push(const Tensor& gradient) = 0;  // [n]
};

// The gradient [n] at these parameters, of the next batch. It may be where the parameters were.
using GradientFn = std::function<Tensor(const Tensor& parameters)>;

// The worker's loop: in each of `steps` steps, pulls, computes one gradient at what it has pulled,
// and pushes it. Tells the servers nothing else, so a caller may go on with more steps.
//   Comm    4·n bytes to the servers and 4·n back per step, of float32
//   Source  [DCM12] §4.1
void work(Servers& servers, const GradientFn& gradient, int steps);

}  // namespace lockstep::async_sgd
