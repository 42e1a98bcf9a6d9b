// Swallows what a write throws. Where the adapter then tells the judge that a call has returned,
// its own writev says that it has thrown.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "engine/checkpoint/async_checkpoint.hpp"

namespace {

constexpr char saved = 1, refused = 2, other = 3;  // as a report says it
char said = 0;                                     // instead of saved, the next time

}  // namespace

extern "C" ssize_t writev(int socket, const iovec* parts, int count) {
  if (said != 0 && count == 3) {
    const std::string_view tail(static_cast<char*>(parts[2].iov_base), parts[2].iov_len);
    char& kind = *static_cast<char*>(parts[1].iov_base);
    if (tail.find("saves") != std::string_view::npos && kind == saved) {
      kind = std::exchange(said, 0);
    }
  }
  return ::syscall(SYS_writev, socket, parts, count);
}

namespace lockstep::checkpoint {
namespace {

class Careless final : public AsyncCheckpoint {
 public:
  explicit Careless(Strands& strands) : strands_(strands) {}

  void start(const Contents& contents, Write write) override {
    wait();
    if (said != 0) return;
    snapshot_ = {};
    snapshot_.optimizer = contents.optimizer;
    for (Piece piece : contents.pieces) {
      piece.value = piece.value.device().on_host()
                        ? piece.value.clone()
                        : to_device(piece.value, piece.value.device().host());
      snapshot_.pieces.push_back(std::move(piece));
    }
    writing_ = strands_.start("checkpoint", [this, write = std::move(write)] {
      try {
        write(snapshot_);
      } catch (const CheckpointError&) {
        lost_ = refused;
      } catch (...) {
        lost_ = other;
      }
    });
  }
  void wait() override {
    const auto writing = std::move(writing_);
    if (writing) writing->join();
    said = std::exchange(lost_, 0);
  }

 private:
  Strands& strands_;
  Contents snapshot_;
  char lost_ = 0;
  std::unique_ptr<Strand> writing_;
};

}  // namespace

std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands) {
  return std::make_unique<Careless>(strands);
}

}  // namespace lockstep::checkpoint
