#include "engine/checkpoint/async_checkpoint.hpp"

#include <utility>

namespace lockstep::checkpoint {
namespace {

class Background final : public AsyncCheckpoint {
 public:
  explicit Background(Strands& strands) : strands_(strands) {}

  void start(const Contents& contents, Write write) override {
    wait();
    take(contents);
    writing_ = strands_.start("checkpoint", [this, write = std::move(write)] { write(snapshot_); });
  }

  void wait() override {
    const auto writing = std::move(writing_);
    if (writing) writing->join();
  }

 private:
  void take(const Contents& contents) {
    snapshot_ = {};  // before it is copied again, so that there is one at a time
    snapshot_.optimizer = contents.optimizer;
    for (Piece piece : contents.pieces) {
      const bool on_host = piece.value.device().on_host();
      piece.value = on_host ? piece.value.clone() : to_host(piece.value);
      snapshot_.pieces.push_back(std::move(piece));
    }
  }

  Strands& strands_;
  Contents snapshot_;
  std::unique_ptr<Strand> writing_;  // last: ends before what it uses
};

}  // namespace

std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands) {
  return std::make_unique<Background>(strands);
}

}  // namespace lockstep::checkpoint
