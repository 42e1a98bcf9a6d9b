// Strands that are plain threads: what the real backends use.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/strand/joined_before.hpp"
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
    LOCKSTEP_CHECK(thread_.joinable(), joined_before);
    thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::exception_ptr failure_;
  std::thread thread_;  // last: starts when the rest is there
};

class ThreadMonitor final : public Monitor {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  void notify_all() override { changed_.notify_all(); }

 private:
  void wait_for_change(const std::source_location&) override {
    std::unique_lock inside(mutex_, std::adopt_lock);
    changed_.wait(inside);
    inside.release();  // locked, as it was
  }

  std::mutex mutex_;  // guards what the monitor's user says
  std::condition_variable changed_;
};

class ThreadStrands final : public Strands {
 public:
  std::unique_ptr<Strand> start(std::string, std::function<void()> body) override {
    return std::make_unique<ThreadStrand>(std::move(body));
  }
  std::unique_ptr<Monitor> make_monitor() override { return std::make_unique<ThreadMonitor>(); }
};

}  // namespace

std::unique_ptr<Strands> make_thread_strands() { return std::make_unique<ThreadStrands>(); }

}  // namespace lockstep
