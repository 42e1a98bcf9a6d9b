// A host whose ranks are threads of the test: each blocks in its Port until the core answers. Which
// thread runs when is the machine's affair; what comes of it is not (core.hpp, invariant 1).
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/sim/core/core.hpp"

namespace lockstep::test {

class ThreadHost {
 public:
  explicit ThreadHost(sim::Core& core) : core_(core) {}

  // Runs `rank_main` on every rank. What a rank throws is a loss of that rank, and kept.
  void run(const std::function<void(sim::Port&, int rank)>& rank_main) {
    failures_.resize(static_cast<std::size_t>(core_.ranks()));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < core_.ranks(); ++rank) {
      threads.emplace_back([&, rank] {
        RankPort port(*this, rank);
        try {
          rank_main(port, rank);
          finish(rank);
        } catch (const std::exception& error) {
          lose(rank, error.what());
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }

  const std::string& failure(int rank) const { return failures_[static_cast<std::size_t>(rank)]; }

 private:
  struct RankPort final : sim::Port {
    RankPort(ThreadHost& the_host, int the_rank) : host(the_host), rank(the_rank) {}
    using Port::call;
    sim::Reply call(const sim::Request& request) override { return host.call(rank, request); }
    ThreadHost& host;
    int rank;
  };

  sim::Reply call(int rank, sim::Request request) {
    const auto bytes = request.data.bytes;
    request.data = sim::payload_of({bytes.begin(), bytes.end()});
    std::unique_lock lock(mutex_);
    core_.ask({rank, 0}, std::move(request));
    act();
    answered_.wait(lock, [&] { return replies_.contains(rank) || core_.finding(); });
    auto entry = replies_.extract(rank);
    if (entry.empty()) throw Error(core_.finding()->message);
    return std::move(entry.mapped());
  }

  void finish(int rank) {
    const std::scoped_lock lock(mutex_);
    core_.end({rank, 0});
    act();
  }

  void lose(int rank, const std::string& why) {
    const std::scoped_lock lock(mutex_);
    failures_[static_cast<std::size_t>(rank)] = why;
    core_.lose(rank, why);
    act();
  }

  void act() {
    while (core_.quiet() && !core_.finished() && !core_.finding()) {
      for (auto& [actor, reply] : core_.advance()) replies_[actor.rank] = std::move(reply);
    }
    answered_.notify_all();
  }

  sim::Core& core_;
  std::mutex mutex_;  // guards the core and replies_
  std::condition_variable answered_;
  std::map<int, sim::Reply> replies_;
  std::vector<std::string> failures_;
};

}  // namespace lockstep::test
