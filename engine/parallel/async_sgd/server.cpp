// The server: a strand for each worker, which receives what that worker asks for. What the strands
// share is guarded by a monitor; whoever waits there waits for another worker's strand. Strands of
// one simulated rank have clocks of their own, so the time of the last change goes with it.
#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/optim/optimizer.hpp"
#include "engine/parallel/async_sgd/parameter_server.hpp"
#include "engine/parallel/async_sgd/words.hpp"

namespace lockstep::async_sgd {
namespace {

// A server that fails must not leave its workers waiting. Groups that stand in front of others can
// end those, and this stands in front of a worker's group for that alone.
struct ServersReach : comm::ProcessGroup {
  static void give_up(comm::ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

// One worker, as its server sees it.
struct Served {
  comm::ProcessGroup* group = nullptr;
  // [n]: the gradient until it is used, then the parameters that go back.
  Tensor buffer{};
  double rate = 0, loss = 0;   // of its last push
  std::int64_t seen = 0;       // the version that it has
  std::int64_t staleness = 0;  // of its last push
  bool in_round = false;       // S = 0: has pushed, and the update is still to come
};

}  // namespace

class ParameterServer::Server {
 public:
  Server(std::span<comm::ProcessGroup* const> workers, const Tensor& parameters, Strands& strands,
         const ServerOptions& options, Device& host)
      : host_(&host),
        parameters_(parameters),
        options_(options),
        clocks_(workers.size()),
        finished_(std::make_unique<bool[]>(workers.size())),
        monitor_(strands.make_monitor()) {
    for (comm::ProcessGroup* group : workers) {
      workers_.push_back({.group = group, .buffer = parameters.empty_like(parameters.numel())});
    }
  }

  // The strand of one worker.
  void attend(int worker);
  // Strands that an error has left behind do not go on; their tensors' device may go before them.
  void let_go() {
    workers_.clear();
    parameters_ = round_mean_ = {};
    options_ = {};
  }
  ServerReport report() {
    const std::scoped_lock inside(*monitor_);
    if (failure_) std::rethrow_exception(failure_);
    return report_;
  }

 private:
  bool synchronous() const { return options_.staleness == 0; }
  Served& of(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  std::span<const bool> finished() const { return {finished_.get(), workers_.size()}; }

  void answer_all(int worker);
  Told pushed(int worker, const Words& words);
  void join_round(int worker);
  void close_round();
  void apply(const Tensor& gradient, double rate);
  void update_with_norm(double norm);
  void count_push(Served& worker);
  Told settled(int worker);
  void tell_state(int worker, const Words& words, const Told& told, std::vector<Tensor> state);
  void leave(int worker, const std::optional<std::string>& lost_because);
  void fail();

  // Inside the monitor: from the moment of the last change on, and until the next.
  void at_the_last_change(int worker) { of(worker).group->wait_until(changed_s_); }
  void changed(int worker) {
    changed_s_ = std::max(changed_s_, of(worker).group->now_s());
    monitor_->notify_all();
  }
  void check_running() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  Device* host_;
  Tensor parameters_;
  ServerOptions options_;

  // Guarded by the monitor, but for the buffers: a strand uses its worker's own, and in a round of
  // S = 0 the strand that closes it uses those of all who are in it.
  std::deque<Served> workers_;
  std::vector<std::int64_t> clocks_;
  std::unique_ptr<bool[]> finished_;
  ServerReport report_;
  double changed_s_ = 0;
  // Of the last round.
  std::int64_t rounds_ = 0;  // closed
  double round_loss_ = 0, round_rate_ = 0, round_square_ = 0;
  Tensor round_mean_{};  // waits for the norm of the whole
  std::exception_ptr failure_{};
  std::unique_ptr<Monitor> monitor_;
};

void ParameterServer::Server::attend(int worker) {
  try {
    answer_all(worker);
    leave(worker, std::nullopt);
  } catch (const CommError& error) {
    leave(worker, error.what());
  } catch (...) {
    fail();
  }
}

void ParameterServer::Server::answer_all(int worker) {
  const Words words(*host_);
  comm::ProcessGroup& group = *of(worker).group;
  while (true) {
    group.recv(words.room(), 1);
    const Asked asked = words.asked();
    if (asked.ask == Ask::finish) return;
    Told told;
    std::vector<Tensor> state;
    if (asked.ask == Ask::push) {
      group.recv(of(worker).buffer, 1);
      of(worker).rate = asked.rate;
      of(worker).loss = asked.loss;
      told = pushed(worker, words);
    } else {
      LOCKSTEP_CHECK(asked.ask != Ask::norm, "async: worker ", worker,
                     " told a norm that no server had asked for");
      const std::scoped_lock inside(*monitor_);
      at_the_last_change(worker);
      if (asked.ask == Ask::settle) told = settled(worker);
      told.version = of(worker).seen = report_.updates;
      of(worker).buffer.copy_(parameters_);
      if (asked.ask == Ask::state && options_.state) {
        for (const Tensor& tensor : options_.state()) state.push_back(tensor.clone());
      }
    }
    group.send(words.put(told), 1);
    if (told.settled == 0) continue;
    group.send(of(worker).buffer, 1);
    for (const Tensor& tensor : state) group.send(tensor.view({-1}), 1);
  }
}

// Its gradient is in the buffer; returns when the worker may go on, with the parameters there.
Told ParameterServer::Server::pushed(int worker, const Words& words) {
  Served& mine = of(worker);
  std::unique_lock inside(*monitor_);
  at_the_last_change(worker);
  check_running();
  ++clocks_[static_cast<std::size_t>(worker)];
  if (synchronous()) {
    const std::int64_t round = rounds_;
    join_round(worker);
    monitor_->wait([&] { return rounds_ > round || failure_; });
    check_running();
    at_the_last_change(worker);
    if (options_.clip_norm > 0) {
      const Told square{.version = report_.updates, .staleness = 0, .number = round_square_};
      inside.unlock();
      mine.group->send(words.put(square), 1);
      mine.group->recv(words.room(), 1);
      LOCKSTEP_CHECK(words.asked().ask == Ask::norm, "async: worker ", worker,
                     " went on without telling the norm of the whole mean");
      inside.lock();
      at_the_last_change(worker);
      update_with_norm(words.asked().number);
      changed(worker);
    }
  } else {
    count_push(mine);
    mine.buffer.scale_(1.0 / static_cast<double>(workers_.size()));
    apply(mine.buffer, mine.rate);
    changed(worker);
    monitor_->wait(
        [&] { return failure_ || may_start(clocks_, finished(), worker, options_.staleness); });
    at_the_last_change(worker);
  }
  check_running();
  mine.seen = report_.updates;
  mine.buffer.copy_(parameters_);
  return {report_.updates, mine.staleness, synchronous() ? round_loss_ : 0, 1};
}

void ParameterServer::Server::count_push(Served& worker) {
  worker.staleness = report_.updates - worker.seen;
  const auto place = static_cast<std::size_t>(worker.staleness);
  if (report_.staleness.size() <= place) report_.staleness.resize(place + 1);
  ++report_.staleness[place];
  ++report_.pushes;
}

void ParameterServer::Server::apply(const Tensor& gradient, double rate) {
  options_.update(gradient, rate);
  ++report_.updates;
}

void ParameterServer::Server::join_round(int worker) {
  of(worker).in_round = true;
  close_round();
  changed(worker);
}

// When the last of the active workers has pushed: the mean, in the order of workers.
void ParameterServer::Server::close_round() {
  double pushes = 0;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (!finished_[w] && !workers_[w].in_round) return;
    pushes += workers_[w].in_round ? 1 : 0;
  }
  if (pushes == 0) return;
  Tensor mean;
  round_loss_ = 0;
  for (Served& worker : workers_) {
    if (!std::exchange(worker.in_round, false)) continue;
    count_push(worker);
    worker.buffer.scale_(1 / pushes);
    round_loss_ += worker.loss / pushes;
    round_rate_ = worker.rate;
    if (!mean.defined()) {
      mean = worker.buffer;
    } else {
      mean.reduce_(worker.buffer, ReduceOp::sum);
    }
  }
  ++rounds_;
  if (options_.clip_norm == 0) return apply(mean, round_rate_);
  Parameter whole;
  whole.grad = mean.clone();  // its worker's strand may be gone before the norm is here
  Parameter* const only = &whole;
  const Tensor norm = optim::clip_grad_norm({&only, 1}, 0);
  const bool numbers = mean.device().has_numbers() && norm.defined();
  round_square_ = numbers ? number_of(norm) * number_of(norm) : 0;
  round_mean_ = whole.grad;
}

// The first worker of a round to tell it; the others tell the same.
void ParameterServer::Server::update_with_norm(double norm) {
  if (!round_mean_.defined()) return;
  const Tensor mean = std::exchange(round_mean_, Tensor());
  const double factor = options_.clip_norm / (norm + 1e-6);  // as clip_grad_norm
  if (factor < 1) mean.scale_(factor);
  apply(mean, round_rate_);
}

Told ParameterServer::Server::settled(int worker) {
  const std::int64_t mine = clocks_[static_cast<std::size_t>(worker)];
  const auto all_here = [&] {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (!finished_[w] && clocks_[w] < mine) return false;
    }
    return true;
  };
  const auto before = clocks_;
  const auto lost_before = report_.lost.size();
  monitor_->wait([&] {
    return failure_ || all_here() || clocks_ != before || report_.lost.size() != lost_before;
  });
  check_running();
  at_the_last_change(worker);
  Told told;
  told.settled = all_here() ? 1 : 0;
  return told;
}

void ParameterServer::Server::leave(int worker, const std::optional<std::string>& lost_because) {
  const std::scoped_lock inside(*monitor_);
  at_the_last_change(worker);
  finished_[static_cast<std::size_t>(worker)] = true;
  if (lost_because && options_.stopped && options_.stopped()) {
    // Nobody is lost but this rank: whoever waits for other workers gets the same reason.
    if (!failure_) failure_ = std::make_exception_ptr(CommError(*lost_because));
  } else if (lost_because) {
    report_.lost.push_back(worker);
    if (options_.on_lost) options_.on_lost(worker, *lost_because);
  }
  try {
    if (synchronous() && !failure_) close_round();
  } catch (...) {
    failure_ = std::current_exception();
  }
  changed(worker);
}

// The server cannot go on: it keeps the reason, and its workers get it.
void ParameterServer::Server::fail() {
  const std::scoped_lock inside(*monitor_);
  if (!failure_) failure_ = std::current_exception();
  std::string why = "the server has failed";
  try {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {  // something that has no words
  }
  monitor_->notify_all();
  for (const Served& worker : workers_) ServersReach::give_up(*worker.group, why);
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
    attending_.push_back(strands.start(
        text("worker ", w), [server = server_, w] { server->attend(static_cast<int>(w)); }));
  }
}

ParameterServer::~ParameterServer() {
  attending_.clear();
  server_->let_go();
}

ServerReport ParameterServer::join() {
  for (const auto& strand : attending_) strand->join();
  attending_.clear();
  return server_->report();
}

}  // namespace lockstep::async_sgd
