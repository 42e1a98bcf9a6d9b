// One strand lives as long as the object, and is woken for each save.
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/async_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

class OneStrand final : public AsyncCheckpoint {
 public:
  explicit OneStrand(Strands& strands)
      : monitor_(strands.make_monitor()), strand_(strands.start("writer", [this] { serve(); })) {}
  ~OneStrand() override {
    {
      const std::scoped_lock inside(*monitor_);
      ends_ = true;
      monitor_->notify_all();
    }
    strand_->join();
  }

  void start(const Contents& contents, Write write) override {
    wait();
    Job job{{}, std::move(write)};
    job.snapshot.optimizer = contents.optimizer;
    for (Piece piece : contents.pieces) {
      const bool on_host = piece.value.device().on_host();
      piece.value = on_host ? piece.value.clone() : to_host(piece.value);
      job.snapshot.pieces.push_back(std::move(piece));
    }
    const std::scoped_lock inside(*monitor_);
    job_ = std::move(job);
    monitor_->notify_all();
  }
  void wait() override {
    const std::scoped_lock inside(*monitor_);
    monitor_->wait([this] { return !job_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  struct Job {
    Contents snapshot;
    Write write;
  };

  void serve() {
    while (true) {
      {
        const std::scoped_lock inside(*monitor_);
        monitor_->wait([this] { return job_ || ends_; });
        if (!job_) return;
      }
      std::exception_ptr failure;
      try {
        job_->write(job_->snapshot);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::scoped_lock inside(*monitor_);
      failure_ = failure;
      job_.reset();
      monitor_->notify_all();
    }
  }

  std::unique_ptr<Monitor> monitor_;
  std::optional<Job> job_;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::unique_ptr<Strand> strand_;
};

}  // namespace

std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands) {
  return std::make_unique<OneStrand>(strands);
}

}  // namespace lockstep::checkpoint
