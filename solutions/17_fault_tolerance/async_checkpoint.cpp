// Task: save while training goes on. start() copies the state and returns; a strand writes the
// copy. One save is in flight at a time, and an error of a write comes out of the next start() or
// wait(). The contract is in engine/checkpoint/async_checkpoint.hpp; engine/strand/strand.hpp says
// what a strand's join() does.
#include "engine/checkpoint/async_checkpoint.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::checkpoint {
namespace {

// >>> your code
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
// <<< your code

}  // namespace

std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands) {
  // >>> your code
  return std::make_unique<Background>(strands);
  // <<< your code
}

}  // namespace lockstep::checkpoint
