#include "engine/comm/worlds/tcp/abortable_context.hpp"

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::comm {
namespace {

using ::gloo::transport::UnboundBuffer;
using Milliseconds = std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

// No collective of Gloo's and no message of ours has it (gloo_agreement.cpp).
constexpr std::uint64_t slot_of_nothing = std::uint64_t{66} << 56;

enum class Direction : std::uint8_t { send, recv };

bool wait_for(UnboundBuffer& buffer, Direction direction, int* rank, Milliseconds timeout) {
  return direction == Direction::send ? buffer.waitSend(rank, timeout)
                                      : buffer.waitRecv(rank, timeout);
}
void abort_wait_for(UnboundBuffer& buffer, Direction direction) {
  direction == Direction::send ? buffer.abortWaitSend() : buffer.abortWaitRecv();
}

// The buffers that somebody may wait for.
//   Thread  any
class Listed {
  struct Waiting {
    Time since;
    UnboundBuffer* buffer;
    Direction direction;
    const std::set<int>* peers;
    bool told = false;
  };

 public:
  void check_not_aborted() const {
    const std::scoped_lock lock(mutex_);
    check_locked();
  }
  void add(UnboundBuffer& buffer) {
    const std::scoped_lock lock(mutex_);
    check_locked();
    buffers_.insert(&buffer);
  }
  void remove(UnboundBuffer& buffer) {
    const std::scoped_lock lock(mutex_);
    buffers_.erase(&buffer);
  }
  // A wait, from when it begins until it ends.
  class Wait {
   public:
    // `peers` stay as they are.
    Wait(Listed& list, UnboundBuffer& buffer, Direction direction, const std::set<int>& peers)
        : list_(list) {
      const std::scoped_lock lock(list_.mutex_);
      list_.check_locked();
      place_ = list_.waits_.insert(list_.waits_.end(),
                                   {std::chrono::steady_clock::now(), &buffer, direction, &peers});
    }
    ~Wait() {
      const std::scoped_lock lock(list_.mutex_);
      list_.waits_.erase(place_);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // True if it was told that its peers are gone. Nobody tells it afterwards.
    bool end() const {
      const std::scoped_lock lock(list_.mutex_);
      return std::exchange(place_->told, true);
    }

   private:
    Listed& list_;
    std::list<Waiting>::iterator place_;
  };
  bool has_wait_since(Time time) const {
    const std::scoped_lock lock(mutex_);
    return !waits_.empty() && waits_.front().since <= time;
  }
  // Tells waits that began by then, and all of whose peers are gone.
  template <typename IsGone>
  void tell_of_the_gone(Time time, const IsGone& is_gone) {
    const std::scoped_lock lock(mutex_);
    for (Waiting& wait : waits_) {
      if (wait.since > time || wait.told || !std::ranges::all_of(*wait.peers, is_gone)) continue;
      wait.told = true;
      abort_wait_for(*wait.buffer, wait.direction);
    }
  }
  void abort() {
    const std::scoped_lock lock(mutex_);
    aborted_ = true;
    for (UnboundBuffer* buffer : buffers_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }

 private:
  void check_locked() const {
    if (aborted_) throw Error("this rank has ended the group's connections");
  }

  mutable std::mutex mutex_;  // guards what follows
  std::set<UnboundBuffer*> buffers_;
  std::list<Waiting> waits_;  // in the order in which they began
  bool aborted_ = false;
};

// Gloo's collectives do not look at what a wait returns, so an aborted one throws.
class ListedBuffer final : public UnboundBuffer {
 public:
  ListedBuffer(std::shared_ptr<Listed> list, std::unique_ptr<UnboundBuffer> inner)
      : UnboundBuffer(inner->ptr, inner->size), list_(std::move(list)), inner_(std::move(inner)) {
    list_->add(*inner_);
  }
  ~ListedBuffer() override { list_->remove(*inner_); }

  bool waitRecv(int* rank, Milliseconds timeout) override {
    return wait(Direction::recv, sources_, rank, timeout);
  }
  bool waitSend(int* rank, Milliseconds timeout) override {
    return wait(Direction::send, destinations_, rank, timeout);
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int dst, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    destinations_.insert(dst);
    inner_->send(dst, slot, offset, bytes);
  }
  void recv(int src, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    sources_.insert(src);
    inner_->recv(src, slot, offset, bytes);
  }
  void recv(std::vector<int> sources, std::uint64_t slot, std::size_t offset,
            std::size_t bytes) override {
    sources_.insert(sources.begin(), sources.end());
    inner_->recv(std::move(sources), slot, offset, bytes);
  }

 private:
  bool wait(Direction direction, const std::set<int>& peers, int* rank, Milliseconds timeout) {
    const Listed::Wait listed(*list_, *inner_, direction, peers);
    const bool done = wait_for(*inner_, direction, rank, timeout);
    const bool told = listed.end();
    if (done && told)
      wait_for(*inner_, direction, nullptr, timeout);  // takes back that it was told
    if (done) return true;
    list_->check_not_aborted();
    // Data that has come by now counts, because a peer may have gone when it was done.
    try {
      if (wait_for(*inner_, direction, rank, Milliseconds(0))) return true;
    } catch (const std::exception&) {
    }
    throw Error("the connection was closed in the middle of a message");
  }

  std::shared_ptr<Listed> list_;
  std::unique_ptr<UnboundBuffer> inner_;
  std::set<int> destinations_, sources_;  // so far
};

}  // namespace

// Stands in front of the transport's own context, whose pairs it shows.
class AbortableContext::Buffers final : public ::gloo::transport::Context {
 public:
  explicit Buffers(std::shared_ptr<::gloo::transport::Context> inner)
      : Context(inner->rank, inner->size), inner_(std::move(inner)) {
    for (int peer = 0; peer < size; ++peer) {
      nothing_.push_back(inner_->createUnboundBuffer(&byte_, 1));
      if (peer != rank) nothing_.back()->recv(peer, slot_of_nothing, 0, 1);
    }
  }

  std::unique_ptr<::gloo::transport::Pair>& getPair(int other) override {
    return inner_->getPair(other);
  }
  std::unique_ptr<::gloo::transport::Pair>& createPair(int other) override {
    return inner_->createPair(other);
  }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data, std::size_t bytes) override {
    return std::make_unique<ListedBuffer>(list_, inner_->createUnboundBuffer(data, bytes));
  }
  Listed& list() { return *list_; }

  // True if the connection to that rank has ended.
  //   Thread  the look-out's
  bool is_gone(int peer) {
    UnboundBuffer& nothing = *nothing_[static_cast<std::size_t>(peer)];
    try {
      nothing.abortWaitRecv();  // so that the wait only looks
      nothing.waitRecv(nullptr, Milliseconds(0));
      return false;
    } catch (const std::exception&) {
      return true;
    }
  }

 private:
  std::shared_ptr<::gloo::transport::Context> inner_;
  std::shared_ptr<Listed> list_ = std::make_shared<Listed>();
  // From each peer, a message that it never sends: Gloo fails it when the connection ends.
  char byte_ = 0;
  std::vector<std::unique_ptr<UnboundBuffer>> nothing_;
};

void AbortableContext::connect(::gloo::rendezvous::Store& store,
                               std::shared_ptr<::gloo::transport::Device>& device,
                               std::function<bool()> has_failed) {
  connectFullMesh(store, device);
  buffers_ = std::make_shared<Buffers>(std::move(transportContext_));
  transportContext_ = buffers_;
  lookout_ = std::jthread([this, has_failed = std::move(has_failed)](const std::stop_token& end) {
    look_after_waits(end, has_failed);
  });
}

void AbortableContext::look_after_waits(const std::stop_token& end,
                                        const std::function<bool()>& has_failed) {
  constexpr auto turn = std::chrono::milliseconds(200);
  constexpr auto long_wait = std::chrono::seconds(1);
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  while (!end.stop_requested()) {
    ended.wait_for(lock, end, turn, [] { return false; });
    if (end.stop_requested()) return;
    const Time long_ago = std::chrono::steady_clock::now() - long_wait;
    if (!buffers_->list().has_wait_since(long_ago)) continue;
    buffers_->list().tell_of_the_gone(long_ago, [&](int peer) { return buffers_->is_gone(peer); });
    if (has_failed()) return abort();
  }
}

void AbortableContext::abort() {
  closeConnections();
  buffers_->list().abort();
}

}  // namespace lockstep::comm
