// Strands that are plain threads: what the real backends use.
#include <exception>
#include <thread>
#include <utility>

#include "engine/strand/strand.hpp"

namespace lockstep {

namespace {

class ThreadStrand final : public Strand {
 public:
  explicit ThreadStrand(std::function<void()> body)
      : thread_([this, body = std::move(body)] {
          try {
            body();
          } catch (...) {
            failure_ = std::current_exception();  // read after join: ordered by it
          }
        }) {}
  ~ThreadStrand() override {
    if (thread_.joinable()) thread_.join();
  }
  void join() override {
    thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::exception_ptr failure_;
  std::thread thread_;  // last: starts when the rest is there
};

class ThreadStrands final : public Strands {
 public:
  std::unique_ptr<Strand> start(std::string, std::function<void()> body) override {
    return std::make_unique<ThreadStrand>(std::move(body));
  }
};

}  // namespace

std::unique_ptr<Strands> make_thread_strands() { return std::make_unique<ThreadStrands>(); }

}  // namespace lockstep
