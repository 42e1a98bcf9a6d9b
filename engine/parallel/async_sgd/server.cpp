// Strands: one for each worker, which receives what that worker asks for and sends the answer, and
// one for serve(). They share a queue of requests.
#include "engine/parallel/async_sgd/server.hpp"

#include <exception>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/async_sgd/request_queue.hpp"

namespace lockstep::async_sgd {
namespace {

// A server that fails must not leave its workers waiting. Groups that stand in front of others can
// end those, and this stands in front of a worker's group for that alone.
struct ServersReach : comm::ProcessGroup {
  static void give_up(comm::ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

}  // namespace

class ParameterServer::Server {
 public:
  Server(std::span<comm::ProcessGroup* const> workers, const Tensor& parameters, Strands& strands,
         const ServerOptions& options, Device& host)
      : host_(&host),
        queue_(workers, parameters, strands, options),
        clips_(options.staleness == 0 && options.clip_norm > 0),
        staleness_(options.staleness) {}

  RequestQueue& queue() { return queue_; }
  void run();               // the strand of serve()
  void attend(int worker);  // the strand of one worker

 private:
  void answer_all(int worker);
  void fail();

  Device* host_;
  RequestQueue queue_;
  bool clips_;
  std::int64_t staleness_;
};

void ParameterServer::Server::run() {
  try {
    serve(queue_, queue_.parameters(),
          {.staleness = staleness_, .update = [this](const Tensor& gradient, double rate) {
             queue_.update(gradient, rate);
           }});
    queue_.end_serving();
  } catch (...) {
    fail();
  }
}

void ParameterServer::Server::attend(int worker) {
  try {
    answer_all(worker);
    queue_.leave(worker, std::nullopt);
  } catch (const CommError& error) {
    queue_.leave(worker, error.what());
  } catch (...) {
    fail();
  }
}

void ParameterServer::Server::answer_all(int worker) {
  const MessageBuffers messages(*host_);
  comm::ProcessGroup& group = queue_.group(worker);
  while (true) {
    group.recv(messages.receive_buffer(), 1);
    const WorkerMessage message = messages.worker_message();
    if (message.ask == Ask::finish) return;
    LOCKSTEP_CHECK(message.ask != Ask::norm, "async: worker ", worker,
                   " told a norm that no server had asked for");
    if (message.ask == Ask::push) {
      group.recv(queue_.buffer(worker), 1);
      queue_.push(worker, message);
      if (clips_) {
        group.send(messages.put(queue_.square_of_round(worker)), 1);
        group.recv(messages.receive_buffer(), 1);
        LOCKSTEP_CHECK(messages.worker_message().ask == Ask::norm, "async: worker ", worker,
                       " went on without telling the norm of the whole mean");
        queue_.tell_norm(worker, messages.worker_message().number);
      }
    }
    std::vector<Tensor> state;
    const ServerMessage told = queue_.wait_for(worker, message.ask, state);
    group.send(messages.put(told), 1);
    if (told.settled == 0) continue;
    group.send(queue_.buffer(worker), 1);
    for (const Tensor& tensor : state) group.send(tensor.view({-1}), 1);
  }
}

// The server cannot go on: it keeps the reason, and its workers get it.
void ParameterServer::Server::fail() {
  queue_.fail(std::current_exception());
  std::string why = "the server has failed";
  try {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {  // something that has no words
  }
  for (int worker = 0; worker < queue_.size(); ++worker) {
    ServersReach::give_up(queue_.group(worker), why);
  }
}

ParameterServer::ParameterServer(std::span<comm::ProcessGroup* const> workers,
                                 const Tensor& parameters, Strands& strands,
                                 const ServerOptions& options, Device& host) {
  LOCKSTEP_CHECK(!workers.empty() && options.staleness >= 0 && options.update,
                 "ParameterServer: ", workers.size(), " workers, a staleness of ",
                 options.staleness, options.update ? "" : ", and no update",
                 "; a server has a worker, a bound that is not negative, and an update");
  for (const comm::ProcessGroup* group : workers) {
    LOCKSTEP_CHECK(group->size() == 2 && group->rank() == 0, "ParameterServer: this is rank ",
                   group->rank(), " of ", group->size(),
                   " ranks; a worker's group has 2, and the server is 0");
  }
  server_ = std::make_shared<Server>(workers, parameters, strands, options, host);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    strands_.push_back(strands.start(
        text("worker ", w), [server = server_, w] { server->attend(static_cast<int>(w)); }));
  }
  strands_.push_back(strands.start("server", [server = server_] { server->run(); }));
}

ParameterServer::~ParameterServer() {
  strands_.clear();
  server_->queue().let_go();
}

ServerReport ParameterServer::join() {
  for (const auto& strand : strands_) strand->join();
  strands_.clear();
  return server_->queue().report();
}

}  // namespace lockstep::async_sgd
