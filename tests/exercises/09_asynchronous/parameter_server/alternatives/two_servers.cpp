// A class for each kind of server, and answers from a copy that is made after each update.
#include <memory>
#include <optional>
#include <vector>

#include "engine/parallel/async_sgd/parameter_server.hpp"

namespace lockstep::async_sgd {
namespace {

class Updates {
 public:
  virtual ~Updates() = default;
  virtual void pushed(const Request& request) = 0;
  virtual void left(int worker) = 0;
};

class AtOnce final : public Updates {
 public:
  AtOnce(int workers, const ServeOptions& options) : workers_(workers), options_(options) {}
  void pushed(const Request& request) override {
    const Tensor share = request.gradient.clone();
    share.scale_(1.0 / workers_);
    options_.update(share, request.rate);
  }
  void left(int) override {}

 private:
  int workers_;
  const ServeOptions& options_;
};

class InRounds final : public Updates {
 public:
  InRounds(int workers, const ServeOptions& options)
      : expected_(static_cast<std::size_t>(workers), true),
        requests_(static_cast<std::size_t>(workers)),
        options_(options) {}
  void pushed(const Request& request) override {
    requests_[static_cast<std::size_t>(request.worker)] = request;
    update_if_complete();
  }
  void left(int worker) override {
    expected_[static_cast<std::size_t>(worker)] = false;
    update_if_complete();
  }

 private:
  void update_if_complete() {
    std::vector<Request> round;
    for (std::size_t w = 0; w < requests_.size(); ++w) {
      if (requests_[w]) {
        round.push_back(*requests_[w]);
      } else if (expected_[w]) {
        return;
      }
    }
    if (round.empty()) return;
    const Tensor mean =
        zeros(round.front().gradient.shape(), DType::float64, round.front().gradient.device());
    for (const Request& request : round) {
      const Tensor share = request.gradient.clone();
      share.scale_(1.0 / static_cast<double>(round.size()));
      mean.reduce_(share, ReduceOp::sum);
    }
    options_.update(mean, round.front().rate);
    requests_.assign(requests_.size(), std::nullopt);
  }

  std::vector<bool> expected_;
  std::vector<std::optional<Request>> requests_;
  const ServeOptions& options_;
};

}  // namespace

void serve(Workers& workers, const Tensor& parameters, const ServeOptions& options) {
  std::unique_ptr<Updates> updates = std::make_unique<AtOnce>(workers.size(), options);
  if (options.staleness == 0) updates = std::make_unique<InRounds>(workers.size(), options);
  const Tensor version = parameters.clone();
  for (int left = 0; left < workers.size();) {
    const Request request = workers.next();
    if (request.kind == Request::Kind::pull) {
      workers.answer(request.worker, version);
      continue;
    }
    if (request.kind == Request::Kind::push) {
      updates->pushed(request);
    } else {
      updates->left(request.worker);
      ++left;
    }
    version.copy_(parameters);
  }
}

void work(Servers& servers, const GradientFn& gradient, int steps) {
  while (steps-- > 0) {
    const Tensor mine = servers.pull().clone();
    servers.push(gradient(mine));
  }
}

}  // namespace lockstep::async_sgd
