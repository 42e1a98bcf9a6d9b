// A case in which a rank dies, as the others see it: their calls fail with CommError. What came of
// it is reported, and a rank that goes on no more says so, so that those who wait for it are told
// too instead of waiting for ever.
#pragma once

#include "engine/sim/wire/printable.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// Keeps what the first failed request was answered.
class WatchedPort final : public sim::Port {
 public:
  explicit WatchedPort(sim::Port& port) : port_(port) {}

  using Port::call;
  sim::Reply call(const sim::Request& request) override {
    sim::Reply reply = port_.call(request);
    if (reply.status != sim::Status::ok && failed_.empty()) failed_ = reply.error;
    return reply;
  }
  const std::string& failed() const { return failed_; }  // empty: none has

 private:
  sim::Port& port_;
  std::string failed_;
};

struct LostPeerEnding {
  Ending ending;
  std::string failed;  // what the rank was told when a call of its failed; empty: none has
  Bytes kept{};        // what the part must not have changed, as the adapter found it then
};
template <typename Archive>
void fields(Archive& archive, LostPeerEnding& one) {
  archive(one.ending, one.failed, one.kept);
}
inline void check_fields(LostPeerEnding& one) { one.failed = sim::printable(one.failed, 400); }

class LostPeer {
 public:
  explicit LostPeer(sim::PlayerCase& played)
      : played_(played),
        port_(played.port),
        watched_{port_, played.strands, played.rank, played.ranks, ByteReader({})} {}

  // The same case; the group that is made from it is watched.
  sim::PlayerCase& watched() { return watched_; }

  LostPeerEnding ending_of(const auto& call) {
    LostPeerEnding one{grader::ending_of<CommError>(call), port_.failed()};
    if (one.ending.kind != Ending::Kind::returned) played_.gave_up = one.ending.what;
    if (!one.failed.empty()) played_.gave_up = one.failed;
    return one;
  }

 private:
  sim::PlayerCase& played_;
  WatchedPort port_;
  sim::PlayerCase watched_;
};

// The report of a rank on a case in which a peer may die: how run(watched case, kept) ended, what
// it left in kept when it ended in an exception, and no result.
inline Bytes play_with_a_lost_peer(sim::PlayerCase& played, const auto& run) {
  LostPeer lost(played);
  Bytes kept;
  LostPeerEnding one = lost.ending_of([&] {
    if constexpr (requires { run(lost.watched(), kept); }) {
      run(lost.watched(), kept);
    } else {
      run(lost.watched());
    }
  });
  if (one.ending.kind != Ending::Kind::returned) one.kept = std::move(kept);
  return fields_to_bytes(one);
}

// Calls the part; what `state` gives is kept when it throws.
inline void keeping(Bytes& kept, const auto& state, const auto& call) {
  try {
    call();
  } catch (...) {
    kept = fields_to_bytes(state());
    throw;
  }
}

}  // namespace lockstep::grader
