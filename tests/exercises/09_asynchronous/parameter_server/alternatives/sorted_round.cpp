// A round is a list of pushes as they come, sorted by worker when it is complete; who has left is
// counted. Workers are answered from the parameters themselves.
#include <algorithm>
#include <vector>

#include "engine/parallel/async_sgd/parameter_server.hpp"

namespace lockstep::async_sgd {
namespace {

struct Round {
  std::vector<Request> pushes;
  std::vector<int> left;

  // Each worker is in one of the two lists, or a push is from one that has left.
  bool complete(int workers) const {
    int here = 0;
    for (int w = 0; w < workers; ++w) {
      const bool pushed = std::ranges::count(pushes, w, &Request::worker) > 0;
      here += pushed || std::ranges::count(left, w) > 0 ? 1 : 0;
    }
    return here == workers && !pushes.empty();
  }

  void make_update(const ServeOptions& options) {
    std::ranges::sort(pushes, {}, &Request::worker);
    const double rate = pushes.back().rate;
    const Tensor sum = pushes.front().gradient;
    for (const Request& push : pushes) push.gradient.scale_(1.0 / std::ssize(pushes));
    for (std::size_t k = 1; k < pushes.size(); ++k) {
      sum.reduce_(pushes[k].gradient, ReduceOp::sum);
    }
    pushes.clear();
    options.update(sum, rate);
  }
};

}  // namespace

void serve(Workers& workers, const Tensor& parameters, const ServeOptions& options) {
  using Kind = Request::Kind;
  Round round;
  do {
    const Request request = workers.next();
    if (request.kind == Kind::pull) workers.answer(request.worker, parameters);
    if (request.kind == Kind::finish || request.kind == Kind::lost) {
      round.left.push_back(request.worker);
    }
    if (request.kind == Kind::push) {
      round.pushes.push_back(request);
      if (options.staleness > 0) {
        request.gradient.scale_(1.0 / workers.size());
        options.update(request.gradient, request.rate);
        round.pushes.clear();
      }
    }
    if (round.complete(workers.size())) round.make_update(options);
  } while (std::ssize(round.left) < workers.size());
}

void work(Servers& servers, const GradientFn& gradient, int steps) {
  for (int step = 1; step <= steps; ++step) {
    const Tensor parameters = servers.pull();
    const Tensor computed = gradient(parameters);
    servers.push(computed);
  }
}

}  // namespace lockstep::async_sgd
