// Strands: one for each worker, which receives what that worker asks for and sends the answer, and
// one for serve(). They meet at a desk.
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
        desk_(workers, parameters, strands, options),
        clips_(options.staleness == 0 && options.clip_norm > 0),
        staleness_(options.staleness) {}

  Desk& desk() { return desk_; }
  void run();               // the strand of serve()
  void attend(int worker);  // the strand of one worker

 private:
  void answer_all(int worker);
  void fail();

  Device* host_;
  Desk desk_;
  bool clips_;
  std::int64_t staleness_;
};

void ParameterServer::Server::run() {
  try {
    serve(desk_, desk_.parameters(),
          {.staleness = staleness_, .update = [this](const Tensor& gradient, double rate) {
             desk_.update(gradient, rate);
           }});
    desk_.end_serving();
  } catch (...) {
    fail();
  }
}

void ParameterServer::Server::attend(int worker) {
  try {
    answer_all(worker);
    desk_.leave(worker, std::nullopt);
  } catch (const CommError& error) {
    desk_.leave(worker, error.what());
  } catch (...) {
    fail();
  }
}

void ParameterServer::Server::answer_all(int worker) {
  const Words words(*host_);
  comm::ProcessGroup& group = desk_.group(worker);
  while (true) {
    group.recv(words.room(), 1);
    const Asked asked = words.asked();
    if (asked.ask == Ask::finish) return;
    LOCKSTEP_CHECK(asked.ask != Ask::norm, "async: worker ", worker,
                   " told a norm that no server had asked for");
    if (asked.ask == Ask::push) {
      group.recv(desk_.buffer(worker), 1);
      desk_.push(worker, asked);
      if (clips_) {
        group.send(words.put(desk_.square_of_round(worker)), 1);
        group.recv(words.room(), 1);
        LOCKSTEP_CHECK(words.asked().ask == Ask::norm, "async: worker ", worker,
                       " went on without telling the norm of the whole mean");
        desk_.tell_norm(worker, words.asked().number);
      }
    }
    std::vector<Tensor> state;
    const Told told = desk_.wait_for(worker, asked.ask, state);
    group.send(words.put(told), 1);
    if (told.settled == 0) continue;
    group.send(desk_.buffer(worker), 1);
    for (const Tensor& tensor : state) group.send(tensor.view({-1}), 1);
  }
}

// The server cannot go on: it keeps the reason, and its workers get it.
void ParameterServer::Server::fail() {
  desk_.fail(std::current_exception());
  std::string why = "the server has failed";
  try {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {  // something that has no words
  }
  for (int worker = 0; worker < desk_.size(); ++worker) {
    ServersReach::give_up(desk_.group(worker), why);
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
  server_->desk().let_go();
}

ServerReport ParameterServer::join() {
  for (const auto& strand : strands_) strand->join();
  strands_.clear();
  return server_->desk().report();
}

}  // namespace lockstep::async_sgd
