#include "engine/comm/worlds/tcp/abortable_context.hpp"

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <condition_variable>
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

[[noreturn]] void say_aborted() { throw Error("this rank has ended the group's connections"); }

// The buffers that somebody may wait for.
//   Thread  any
class Listed {
 public:
  // Throws when all was aborted.
  void add(UnboundBuffer& buffer) {
    const std::scoped_lock lock(mutex_);
    if (aborted_) say_aborted();
    buffers_.insert(&buffer);
  }
  void remove(UnboundBuffer& buffer) {
    const std::scoped_lock lock(mutex_);
    buffers_.erase(&buffer);
  }
  // A wait, from when it begins until it ends.
  class Wait {
   public:
    explicit Wait(Listed& list) : list_(list) {
      const std::scoped_lock lock(list_.mutex_);
      place_ = list_.waits_.insert(std::chrono::steady_clock::now());
    }
    ~Wait() {
      const std::scoped_lock lock(list_.mutex_);
      list_.waits_.erase(place_);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Listed& list_;
    std::multiset<Time>::iterator place_;
  };
  bool has_wait_since(Time time) {
    const std::scoped_lock lock(mutex_);
    return !waits_.empty() && *waits_.begin() <= time;
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
  std::mutex mutex_;  // guards what follows
  std::set<UnboundBuffer*> buffers_;
  std::multiset<Time> waits_;  // when they began
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
    const Listed::Wait wait(*list_);
    if (!inner_->waitRecv(rank, timeout)) say_aborted();
    return true;
  }
  bool waitSend(int* rank, Milliseconds timeout) override {
    const Listed::Wait wait(*list_);
    if (!inner_->waitSend(rank, timeout)) say_aborted();
    return true;
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int dst, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(dst, slot, offset, bytes);
  }
  void recv(int src, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(src, slot, offset, bytes);
  }
  void recv(std::vector<int> sources, std::uint64_t slot, std::size_t offset,
            std::size_t bytes) override {
    inner_->recv(std::move(sources), slot, offset, bytes);
  }

 private:
  std::shared_ptr<Listed> list_;
  std::unique_ptr<UnboundBuffer> inner_;
};

}  // namespace

// Stands in front of the transport's own context, whose pairs it shows.
class AbortableContext::Buffers final : public ::gloo::transport::Context {
 public:
  explicit Buffers(std::shared_ptr<::gloo::transport::Context> inner)
      : Context(inner->rank, inner->size), inner_(std::move(inner)) {}

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

 private:
  std::shared_ptr<::gloo::transport::Context> inner_;
  std::shared_ptr<Listed> list_ = std::make_shared<Listed>();
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
    if (!buffers_->list().has_wait_since(std::chrono::steady_clock::now() - long_wait)) continue;
    if (has_failed()) return abort();
  }
}

void AbortableContext::abort() {
  closeConnections();
  buffers_->list().abort();
}

}  // namespace lockstep::comm
