// Task: the two loops of training with a parameter server. serve() takes the workers' requests one
// after the other, until every worker has finished or is lost. It answers each pull with the
// parameters, and turns pushes into updates: at once for S > 0, once per round for S = 0. work()
// pulls, computes and pushes. The contract is in engine/parallel/async_sgd/parameter_server.hpp.
#include "engine/parallel/async_sgd/parameter_server.hpp"

#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {
namespace {

// >>> your code
struct Worker {
  bool left = false;
  Tensor pushed{};  // S = 0: in this round, or nothing
};

// When each worker has pushed or left: one update with the mean, in the order of workers.
void close_round(std::vector<Worker>& all, double rate, const ServeOptions& options) {
  double pushes = 0;
  for (const Worker& worker : all) {
    if (!worker.pushed.defined() && !worker.left) return;
    pushes += worker.pushed.defined() ? 1 : 0;
  }
  Tensor mean;
  for (Worker& worker : all) {
    const Tensor pushed = std::exchange(worker.pushed, Tensor());
    if (!pushed.defined()) continue;
    pushed.scale_(1 / pushes);
    if (mean.defined()) {
      mean.reduce_(pushed, ReduceOp::sum);
    } else {
      mean = pushed;
    }
  }
  if (mean.defined()) options.update(mean, rate);
}
// <<< your code

}  // namespace

void serve(Workers& workers, const Tensor& parameters, const ServeOptions& options) {
  // >>> your code
  std::vector<Worker> all(static_cast<std::size_t>(workers.size()));
  double rate = 0;  // of the last push
  for (int at_work = workers.size(); at_work > 0;) {
    const Request request = workers.next();
    Worker& worker = all[static_cast<std::size_t>(request.worker)];
    switch (request.kind) {
      case Request::Kind::pull:
        workers.answer(request.worker, parameters);
        continue;
      case Request::Kind::push:
        rate = request.rate;
        if (options.staleness == 0) {
          worker.pushed = request.gradient;
        } else {
          request.gradient.scale_(1.0 / workers.size());
          options.update(request.gradient, rate);
        }
        break;
      case Request::Kind::finish:
      case Request::Kind::lost:
        worker.left = true;
        --at_work;
    }
    close_round(all, rate, options);
  }
  // <<< your code
}

void work(Servers& servers, const GradientFn& gradient, int steps) {
  // >>> your code
  for (int step = 0; step < steps; ++step) servers.push(gradient(servers.pull()));
  // <<< your code
}

}  // namespace lockstep::async_sgd
