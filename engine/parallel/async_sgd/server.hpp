// The engine's side of a server (parameter_server.hpp): it receives from all workers at once, holds
// back who is too far ahead, and hands one request after the other to serve().
//
//     worker                          server
//       pull  ----------------------->  pull; answers with the parameters
//       compute a gradient
//       push the gradient  ---------->  push, and then pull: when may_start() lets the worker go
//             <-----------------------  on, answers with the parameters and their version
//       compute …
//       finish  --------------------->  nobody waits for this worker any more
//
//   W workers, n elements of the server's parameters, S the bound on staleness
//
// A worker that has pushed wants the parameters next, so on the wire a push is also a pull.
//
// Staleness of a push: the updates that were made since its worker got the parameters.
//   S = 0   Synchronous: one update a step, with the mean of all active workers' pushes, in the
//           order of workers. Any optimizer does what it does on one rank; every staleness is 0.
//   S > 0   Each push is an update of its own, at once, with the gradient times 1/W. A worker may
//           be S steps ahead of the slowest (bounded_staleness.hpp), or any number if S is
//           unbounded.
//
// Invariants
//   1. Each push is handed to serve() once. A message is sent once; nothing is sent again.
//   2. What a worker gets is a whole version: all of the parameters between two updates.
//   3. A worker that is lost, or silent until the deadline of its group, counts as finished. What
//      it pushed before stays.
//
// Each worker has a group of its own with the server, in which the server is rank 0 and the worker
// rank 1: after a failure a group is of no use, and the others must go on. It is a ProcessGroup,
// not only Peers, because strands of a simulated rank hand the time over with their values; only
// messages are sent.
//
// Source: [LAP14] §3 (push, pull, user-defined updates), [DCM12] §4.1 (asynchronous SGD on shards
// of the parameters), [HCC13] §3 (bounded staleness)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::async_sgd {

// How a server changes its parameters and what it tells.
struct ServerOptions {
  std::int64_t staleness = unbounded;  // S
  // Changes the parameters by one update from `gradient` [n], which it may overwrite.
  std::function<void(const Tensor& gradient, double rate)> update{};
  // The optimizer's state, for a worker that saves it. Empty: there is none.
  std::function<std::vector<Tensor>()> state{};
  // S = 0 only: bound on the norm of the mean over all servers' parameters; 0: none. The servers
  // then tell the squares of their norms, and the workers answer with the norm of the whole.
  double clip_norm = 0;
  // A worker is lost. Called by a strand of the server, by one at a time.
  std::function<void(int worker, const std::string& why)> on_lost{};
  // The rank has failed, and gives up its groups: whoever is lost then is not told of. Called by
  // any strand.
  std::function<bool()> stopped{};
};

// The work of a server, when all workers have finished or are lost.
struct ServerReport {
  std::int64_t updates = 0;             // the version of the parameters
  std::int64_t pushes = 0;              // W a step with S = 0; otherwise as many as updates
  std::vector<std::int64_t> staleness;  // how many pushes had a staleness of 0, 1, …
  std::vector<int> lost;                // workers, in the order in which they were
};

// Serves from when it is made until every worker has finished or is lost, on a strand for each and
// one for serve().
//   Thread  the strand that makes it also joins and destroys it
class ParameterServer {
 public:
  //   workers     a group for each, by worker: this rank is 0 there, the worker 1; they outlive it
  //   parameters  [n] float, changed by options.update alone
  //   host        where messages of 32 bytes lie, in the host's memory; outlives the groups
  //   Comm        a step of a worker: a message of 32 bytes and [n] each way; with a clip norm, two
  //               more messages of 32 bytes. The first pull: the same without a gradient
  //   Throws      ContractError for groups that are no pairs, a negative staleness, no update
  ParameterServer(std::span<comm::ProcessGroup* const> workers, const Tensor& parameters,
                  Strands& strands, const ServerOptions& options, Device& host);
  // Joins. Whoever drops it before its workers have finished must give up their groups first.
  ~ParameterServer();
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  //   Throws  what serve() or options.update threw; the workers have got a CommError with the
  //           reason. ContractError when a worker asked for what it may not, and when serve()
  //           returned before all workers had left
  ServerReport join();

 private:
  class Server;
  std::shared_ptr<Server> server_;  // a strand may be left behind by an error
  std::vector<std::unique_ptr<Strand>> strands_;
};

}  // namespace lockstep::async_sgd
