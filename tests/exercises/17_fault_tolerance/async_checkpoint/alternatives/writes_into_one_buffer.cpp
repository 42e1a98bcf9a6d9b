// The snapshot's tensors are made once, and later states are copied into them. The error of a write
// is kept by hand until somebody asks.
#include <exception>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/async_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

class OneBuffer final : public AsyncCheckpoint {
 public:
  explicit OneBuffer(Strands& strands) : strands_(strands) {}
  ~OneBuffer() override { finish(); }

  void start(const Contents& contents, Write write) override {
    wait();
    if (copy_.pieces.size() != contents.pieces.size()) make(contents);
    copy_.optimizer = contents.optimizer;
    for (std::size_t i = 0; i < copy_.pieces.size(); ++i) {
      const Tensor kept = copy_.pieces[i].value;
      copy_.pieces[i] = contents.pieces[i];
      copy_.pieces[i].value = kept;
      kept.copy_(to_host(contents.pieces[i].value));
    }
    strand_ = strands_.start("writer", [this, write = std::move(write)] {
      try {
        write(copy_);
      } catch (...) {
        failure_ = std::current_exception();
      }
    });
  }
  void wait() override {
    finish();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void finish() {
    if (strand_) strand_->join();
    strand_.reset();
  }
  void make(const Contents& contents) {
    copy_ = contents;
    for (Piece& piece : copy_.pieces) piece.value = to_host(piece.value).clone();
  }

  Strands& strands_;
  Contents copy_;
  std::exception_ptr failure_;
  std::unique_ptr<Strand> strand_;
};

}  // namespace

std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands) {
  return std::make_unique<OneBuffer>(strands);
}

}  // namespace lockstep::checkpoint
