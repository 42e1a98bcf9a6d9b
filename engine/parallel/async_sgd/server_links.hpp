// A worker's connections to all servers, each of which keeps a part of the parameters. Every
// request goes to all servers at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/parallel/async_sgd/messages.hpp"

namespace lockstep::async_sgd {

// One server.
struct Link {
  comm::ProcessGroup* group = nullptr;  // of this worker, its rank 1, and the server
  Tensor buffer{};                      // [n] of this server: a gradient to push, then parameters
  int server_rank = 0;                  // of the world, for errors
};

// The answers of all servers as one. Unless the staleness is 0, the servers may be at different
// versions, because nothing keeps them in step.
struct ServersReply {
  std::int64_t version = 0;    // of the first server
  std::int64_t staleness = 0;  // of this worker's last push, there
  double loss = 0;             // of a push with S = 0: the mean over the workers
};

// How the norm of a gradient is bounded: with S = 0 by the servers, which need the norm of the
// whole mean; otherwise the worker does it before it pushes.
enum class Clip : std::uint8_t { not_here, by_servers };

// Thread: one strand of the worker. Every function throws CommError, with the server's rank, when a
// server is lost or does not answer in time.
class ServerLinks {
 public:
  // `who` for errors: "worker 2". Groups must outlive it, and `host`, as the server's, the groups.
  ServerLinks(std::string who, std::vector<Link> links, Clip clip, Device& host);

  // The parameters, into the buffers.
  //   Comm  32 bytes to each server; 32 bytes and [n] back
  ServersReply pull();
  // The gradient that is in the buffers; then the parameters are, as soon as this worker may go on.
  //   Comm  as pull, and [n] to each server; with Clip::by_servers 32 bytes more each way
  ServersReply push(double loss, double rate);
  // The parameters when every active worker has taken as many steps as this one.
  //   Comm  as pull, and 32 bytes each way for each push that is waited for
  void settle();
  // The parameters, and the servers' optimizer state into `state`, by server.
  void pull_state(const std::vector<std::vector<Tensor>>& state);
  // No more steps come from this worker. The servers do not listen to it any more: whatever it asks
  // of them then breaks the contract, and would wait for ever.
  void finish();

  std::int64_t bytes_sent() const;                         // payload
  const std::string& failure() const { return failure_; }  // what was thrown; empty: nothing
  // Ends what the servers wait for, with this reason.
  void give_up(const std::string& why);

 private:
  struct End;
  template <typename Body>
  void each(const Body& body);
  ServersReply take_answers();
  void ask(const WorkerMessage& asked);

  std::string who_;
  std::vector<std::shared_ptr<End>> ends_;
  Clip clip_;
  bool finished_ = false;
  std::string failure_;
};

}  // namespace lockstep::async_sgd
