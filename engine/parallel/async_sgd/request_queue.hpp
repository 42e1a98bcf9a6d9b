// A server's requests from all workers, in order of arrival. One strand per worker receives and
// adds them, and the strand of serve() takes them one by one. A pull stays in the queue until
// may_start() lets its worker go on. The other requests (the optimizer's state, and waiting until
// all workers have finished as many steps) are answered here, between two requests, when no update
// is under way.
//
// A monitor guards everything but the buffers. A worker's strand uses the worker's buffer until it
// has added a push, and serve() uses it until the worker is answered. Strands of one simulated rank
// have clocks of their own, so whatever is handed over carries its time.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/parallel/async_sgd/messages.hpp"
#include "engine/parallel/async_sgd/parameter_server.hpp"
#include "engine/parallel/async_sgd/server.hpp"

namespace lockstep::async_sgd {

class RequestQueue final : public Workers {
 public:
  RequestQueue(std::span<comm::ProcessGroup* const> workers, const Tensor& parameters,
               Strands& strands, const ServerOptions& options);

  // The strand of serve() calls these. Each throws the reason that fail() was given.
  const Tensor& parameters() const { return parameters_; }
  int size() const override { return static_cast<int>(workers_.size()); }
  Request next() override;
  void answer(int worker, const Tensor& parameters) override;
  void update(const Tensor& gradient, double rate);
  // Called after serve() has returned. Throws ContractError if a worker has not left yet.
  void end_serving();

  // The strand of one worker calls these.
  comm::ProcessGroup& group(int worker) { return *of(worker).group; }
  const Tensor& buffer(int worker) { return of(worker).buffer; }  // [n]
  // The pushed gradient is in the worker's buffer. The answer to the push puts the parameters
  // there.
  void push(int worker, const WorkerMessage& message);
  // For S = 0 with a clip norm, after push(): waits until the round is complete, and returns the
  // square of the norm of its mean. tell_norm() then takes the norm over all servers.
  ServerMessage square_of_round(int worker);
  void tell_norm(int worker, double norm);
  // Waits for the answer to a pull, a settle or a state. The optimizer's state comes with the last.
  ServerMessage wait_for(int worker, Ask ask, std::vector<Tensor>& state);
  void leave(int worker, const std::optional<std::string>& lost_because);

  // Records that the server cannot go on; the first reason is kept.
  void fail(std::exception_ptr reason);
  // Strands that an error has left behind do not go on; their tensors' device may go before them.
  void let_go();
  ServerReport report();

 private:
  // The state of one worker on its server.
  struct Served {
    comm::ProcessGroup* group = nullptr;
    // [n]: the gradient until it is used, then the parameters that go back.
    Tensor buffer{};
    double rate = 0, loss = 0;   // of its last push
    std::int64_t seen = 0;       // the version that it has
    std::int64_t staleness = 0;  // of its last push
    bool in_round = false;       // S = 0: its push was taken, and the update is still to come
    bool tells_norm = false;     // its round is complete, and waits for the norm over all servers
    bool waits = false;          // serve() has its pull
    std::optional<ServerMessage> told{};  // the answer, until its strand takes it
    double told_s = 0;
    std::vector<Tensor> state{};  // of the optimizer, where it was asked for
  };
  enum class Matter : std::uint8_t { pull, push, settle, state, finish, lost };
  struct Note {
    Matter matter;
    int worker;
    double at_s;
    std::int64_t changes;  // there had been when it was put down
  };

  bool synchronous() const { return options_.staleness == 0; }
  bool clips() const { return synchronous() && options_.clip_norm > 0; }
  Served& of(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  double now_s() const { return workers_.front().group->now_s(); }  // of the calling strand
  void wait_until(double at_s) const { workers_.front().group->wait_until(at_s); }
  bool is_active(int worker) const { return !finished_[static_cast<std::size_t>(worker)]; }
  bool all_left() const;
  bool all_have_as_many_steps(int worker) const;
  void check_running() const;

  void put_down(Matter matter, int worker);
  bool is_ready(const Note& note) const;
  std::deque<Note>::iterator first_ready();
  std::optional<Request> take(const Note& note);
  void count_push(Served& worker);
  void tell(int worker, const Tensor& parameters, const ServerMessage& told);
  void close_round();
  bool clip(const Tensor& mean);

  Tensor parameters_;
  ServerOptions options_;
  std::deque<Served> workers_;
  std::vector<std::int64_t> clocks_;
  std::unique_ptr<bool[]> finished_;
  std::deque<Note> notes_;
  std::int64_t changes_ = 0;  // pushes taken, and workers that have left
  ServerReport report_;
  // The figures of the last round.
  double round_loss_ = 0, round_square_ = 0, round_s_ = 0, norm_s_ = 0;
  std::optional<double> norm_{};
  std::exception_ptr failure_{};
  std::unique_ptr<Monitor> monitor_;
};

}  // namespace lockstep::async_sgd
