// The two loops alone: a server whose requests are a list, and a worker whose servers count.
#include "engine/parallel/async_sgd/parameter_server.hpp"

#include <deque>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using async_sgd::Request;
using Kind = async_sgd::Request::Kind;

namespace {

constexpr std::int64_t no_rounds = 2;  // a staleness

// One element; a push is its gradient, and the rate is 1.
struct Listed final : async_sgd::Workers {
  Listed(int workers, std::deque<Request> all, Device& on)
      : requests(std::move(all)), count(workers), parameters(full({1}, 100, DType::float64, on)) {}

  int size() const override { return count; }
  Request next() override {
    LOCKSTEP_CHECK(!requests.empty(), "all have left");
    const Request request = requests.front();
    requests.pop_front();
    return request;
  }
  void answer(int worker, const Tensor& answered) override {
    answers.push_back({worker, answered.item(0)});
  }
  void serve(std::int64_t staleness) {
    async_sgd::serve(*this, parameters,
                     {.staleness = staleness, .update = [&](const Tensor& gradient, double rate) {
                        ++updates;
                        gradient.scale_(-rate);
                        parameters.reduce_(gradient, ReduceOp::sum);
                      }});
  }

  std::deque<Request> requests;
  int count, updates = 0;
  Tensor parameters;
  std::vector<std::pair<int, double>> answers{};
};

}  // namespace

TEST_CASE("parameter server: each push is an update at once, times 1/W, also when workers left") {
  CpuDevice device;
  const auto push = [&](int worker, double gradient) {
    return Request{Kind::push, worker, full({1}, gradient, DType::float64, device), 1};
  };
  Listed workers(4,
                 {{Kind::pull, 3},
                  push(3, 4),
                  {Kind::pull, 3},
                  {Kind::lost, 0},
                  {Kind::finish, 1},
                  push(2, 8),
                  {Kind::finish, 2},
                  {Kind::pull, 3},
                  {Kind::finish, 3}},
                 device);
  workers.serve(no_rounds);
  CHECK(workers.requests.empty());
  CHECK(workers.updates == 2);
  CHECK(workers.answers == std::vector<std::pair<int, double>>{{3, 100}, {3, 99}, {3, 97}});
}

TEST_CASE("parameter server: with S = 0 a round is one update with the mean of its pushes") {
  CpuDevice device;
  const auto push = [&](int worker, double gradient) {
    return Request{Kind::push, worker, full({1}, gradient, DType::float64, device), 1};
  };
  // Worker 0 is lost after its push, worker 2 before its own; then worker 1 is alone.
  Listed workers(3,
                 {push(1, 6),
                  push(0, 4),
                  {Kind::lost, 0},
                  {Kind::lost, 2},
                  {Kind::pull, 1},
                  push(1, 3),
                  {Kind::pull, 1},
                  {Kind::finish, 1}},
                 device);
  workers.serve(0);
  CHECK(workers.requests.empty());
  CHECK(workers.updates == 2);
  CHECK(workers.answers == std::vector<std::pair<int, double>>{{1, 95}, {1, 92}});
}

TEST_CASE("parameter server: a worker pulls, computes there, and pushes, once a step") {
  struct Counting final : async_sgd::Servers {
    explicit Counting(Device& on) : here(zeros({1}, DType::float64, on)) {}
    Tensor pull() override {
      here.fill_(++pulls);
      return here;
    }
    void push(const Tensor& gradient) override { pushed.push_back(gradient.item(0)); }
    Tensor here;
    int pulls = 0;
    std::vector<double> pushed{};
  };
  CpuDevice device;
  Counting servers(device);
  const auto tenfold = [](const Tensor& parameters) {
    parameters.scale_(10);
    return parameters;
  };
  async_sgd::work(servers, tenfold, 0);
  CHECK(servers.pulls == 0);
  async_sgd::work(servers, tenfold, 3);
  CHECK(servers.pulls == 3);
  CHECK(servers.pushed == std::vector<double>{10, 20, 30});
}
