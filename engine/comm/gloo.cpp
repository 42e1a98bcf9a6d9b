// ProcessGroup over Gloo's context. The interesting part is failure: a library that says
// "Connection closed by peer [127.0.0.1]:41234" has to become a sentence that names ranks.
//
//   a. An operation throws. The first one on this rank poisons the group and closes its
//      connections, so every peer that waits, for whomever, fails within milliseconds as well.
//   b. The ranks tell each other through the store what they were doing (rendezvous.hpp).
#include "engine/comm/gloo.hpp"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

#include "engine/comm/gloo_call.hpp"
#include "engine/comm/gloo_store.hpp"
#include "engine/comm/ordered_worker.hpp"
#include "engine/comm/rendezvous.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/comm/tcp_store.hpp"

namespace lockstep::comm {

namespace {

using Buffer = std::unique_ptr<::gloo::transport::UnboundBuffer>;
using Transport = std::shared_ptr<::gloo::transport::Device>;

std::chrono::milliseconds ms_of(double seconds) {
  return std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
}

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(Store& store, int rank, int size, const GlooOptions& options, Transport transport)
      : ProcessGroup(rank, size),
        store_(store),
        options_(options),
        keys_(with_prefix(store, "gloo/" + options.name)),
        transport_(std::move(transport)),
        context_(std::make_shared<::gloo::rendezvous::Context>(rank, size)) {
    meet(*keys_, rank, size, options.name, options.meet_timeout_s);
    context_->setTimeout(ms_of(options.timeout_s));
    try {
      GlooStore bridge(*keys_, options.meet_timeout_s);
      context_->connectFullMesh(bridge, transport_);
    } catch (const std::exception& error) {
      throw CommError(text("rank ", rank, " of ", size, " cannot connect to its peers as ",
                           options.hostname, ": ", error.what(),
                           "; all ranks must be able to reach each other's hostname"));
    }
  }

  ~GlooGroup() override {
    // An operation that nobody waited for would keep the worker until its deadline.
    if (in_flight_ > 0) context_->closeConnections();
  }

  std::string_view backend() const override { return "gloo"; }
  Traffic traffic() const override { return {bytes_sent_, messages_sent_, modelled_}; }

 protected:
  Work start_broadcast(Tensor data, int root, const Where& where) override {
    return later(broadcast_call(data, root, where),
                 [=, this](const Call& call) { run_broadcast(call, data); });
  }
  void broadcast_now(Tensor data, int root, const Where& where) override {
    now(broadcast_call(data, root, where), [&](const Call& call) { run_broadcast(call, data); });
  }
  Work start_all_reduce(Tensor data, ReduceOp op, const Where& where) override {
    return later(all_reduce_call(data, op, where),
                 [=, this](const Call& call) { run_all_reduce(call, data); });
  }
  void all_reduce_now(Tensor data, ReduceOp op, const Where& where) override {
    now(all_reduce_call(data, op, where), [&](const Call& call) { run_all_reduce(call, data); });
  }
  Work start_all_gather(const Tensor& mine, Tensor all, const Where& where) override {
    return later(all_gather_call(mine, where),
                 [=, this](const Call& call) { run_all_gather(call, mine, all); });
  }
  void all_gather_now(const Tensor& mine, Tensor all, const Where& where) override {
    now(all_gather_call(mine, where), [&](const Call& call) { run_all_gather(call, mine, all); });
  }
  Work start_barrier(const Where& where) override {
    return later(barrier_call(where), [this](const Call& call) { run_barrier(call); });
  }
  void barrier_now(const Where& where) override {
    now(barrier_call(where), [this](const Call& call) { run_barrier(call); });
  }

  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override;
  Work start_recv(Tensor data, int src, int tag, const Where& where) override;
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override;

 private:
  class Message;

  Call call_of(Verb verb, const Where& where) {
    Call call;
    call.verb = verb;
    call.number = ++collectives_;
    call.where = where;
    return call;
  }
  Call broadcast_call(const Tensor& data, int root, const Where& where) {
    Call call = call_of(Verb::broadcast, where);
    call.count = data.numel();
    call.dtype = data.dtype();
    call.peer = root;
    return call;
  }
  Call all_reduce_call(const Tensor& data, ReduceOp op, const Where& where) {
    Call call = call_of(Verb::all_reduce, where);
    call.count = data.numel();
    call.dtype = data.dtype();
    call.op = op;
    return call;
  }
  Call all_gather_call(const Tensor& mine, const Where& where) {
    Call call = call_of(Verb::all_gather, where);
    call.count = mine.numel();
    call.dtype = mine.dtype();
    return call;
  }
  Call barrier_call(const Where& where) { return call_of(Verb::barrier, where); }

  // Blocking and asynchronous form of a collective.
  template <typename Body>
  void now(const Call& call, const Body& body) {
    check_alive(call);
    worker_.run([&] { guarded(call, [&] { body(call); }); });
  }
  template <typename Body>
  Work later(const Call& call, Body body);

  // Runs `body`; whatever it throws becomes a CommError and poisons the group.
  template <typename Body>
  void guarded(const Call& call, const Body& body) {
    check_alive(call);
    try {
      body();
    } catch (const std::exception& error) {
      fail(call, error.what());
    }
  }

  bool failed() {
    const std::scoped_lock lock(failure_mutex_);
    return !first_cause_.empty();
  }

  void check_alive(const Call& call) {
    const std::scoped_lock lock(failure_mutex_);
    if (first_cause_.empty()) return;
    throw CommError(text("rank ", rank(), ": ", text_of(call), " at ", place_of(call),
                         " cannot run, the group has failed before: ", first_cause_));
  }

  [[noreturn]] void fail(const Call& call, const std::string& library_says);

  void run_broadcast(const Call& call, const Tensor& data);
  void run_all_reduce(const Call& call, const Tensor& data);
  void run_all_gather(const Call& call, const Tensor& mine, const Tensor& all);
  void run_barrier(const Call& call);

  void count_modelled(std::int64_t bytes, std::int64_t messages) {
    bytes_sent_ += bytes;
    messages_sent_ += bytes > 0 ? messages : 0;
    modelled_ = true;
  }

  Store& store_;
  GlooOptions options_;
  std::unique_ptr<Store> keys_;  // this group's part of the store
  Transport transport_;
  std::shared_ptr<::gloo::rendezvous::Context> context_;

  std::mutex failure_mutex_;  // guards first_cause_
  std::string first_cause_;

  std::mutex dropped_mutex_;  // guards dropped_: messages that nobody waited for stay in flight
  std::vector<std::pair<Tensor, Buffer>> dropped_;

  std::uint64_t collectives_ = 0;
  int splits_ = 0;
  std::atomic<int> in_flight_ = 0;
  std::atomic<std::int64_t> bytes_sent_ = 0;
  std::atomic<std::int64_t> messages_sent_ = 0;
  std::atomic<bool> modelled_ = false;
  OrderedWorker worker_;  // last: ends before what its operations use
};

class Queued final : public Pending {
 public:
  explicit Queued(std::future<void> done) : done_(std::move(done)) {}
  void wait() override { done_.get(); }

 private:
  std::future<void> done_;
};

template <typename Body>
Work GlooGroup::later(const Call& call, Body body) {
  check_alive(call);
  ++in_flight_;
  return Work(std::make_unique<Queued>(worker_.submit([this, call, body = std::move(body)] {
    struct Landed {
      std::atomic<int>& count;
      ~Landed() { --count; }
    } landed{in_flight_};
    guarded(call, [&] { body(call); });
  })));
}

void GlooGroup::fail(const Call& call, const std::string& library_says) {
  const std::string failed =
      text("rank ", rank(), " of ", size(), ": ", text_of(call), " at ", place_of(call), " failed");
  bool first = false;
  {
    const std::scoped_lock lock(failure_mutex_);
    first = first_cause_.empty();
    if (first) first_cause_ = failed;
  }
  context_->closeConnections();
  const std::string doing = text(text_of(call), " at ", place_of(call));
  const std::string cause =
      text(failed, diagnosis(*keys_, rank(), size(), doing), " [Gloo: ", library_says, "]");
  const std::scoped_lock lock(failure_mutex_);
  if (first) first_cause_ = cause;
  throw CommError(cause);
}

void GlooGroup::run_broadcast(const Call& call, const Tensor& data) {
  if (data.numel() == 0) return;
  const std::span<std::byte> bytes = data.raw_bytes();
  ::gloo::BroadcastOptions options(context_);
  options.setOutput(reinterpret_cast<char*>(bytes.data()), bytes.size());
  options.setRoot(call.peer);
  options.setTag(tag_of(call));
  ::gloo::broadcast(options);
  // Binomial tree: a rank at distance d from the root sends to d + 2^k for each 2^k > d in reach.
  const auto distance = static_cast<unsigned>((rank() + size() - call.peer) % size());
  std::int64_t children = 0;
  for (unsigned step = std::bit_ceil(distance + 1); distance + step < static_cast<unsigned>(size());
       step *= 2) {
    ++children;
  }
  count_modelled(children * static_cast<std::int64_t>(bytes.size()), children);
}

void GlooGroup::run_all_reduce(const Call& call, const Tensor& data) {
  if (data.numel() == 0) return;
  ::gloo::AllreduceOptions options(context_);
  visit_dtype(call.dtype, [&]<typename T>() {
    options.setOutput(reinterpret_cast<T*>(data.raw_bytes().data()),
                      static_cast<std::size_t>(call.count));
  });
  options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction([&](void* out, const void* a, const void* b, std::size_t count) {
    if (out != a) std::memcpy(out, a, count * bytes_of(call.dtype));
    reduce_elements(call.dtype, call.op, static_cast<std::byte*>(out),
                    static_cast<const std::byte*>(b), static_cast<std::int64_t>(count));
  });
  options.setTag(tag_of(call));
  ::gloo::allreduce(options);
  const auto bytes = static_cast<std::int64_t>(data.bytes());
  count_modelled(2 * (size() - 1) * bytes / size(), 2 * (size() - 1));
}

void GlooGroup::run_all_gather(const Call& call, const Tensor& mine, const Tensor& all) {
  if (mine.numel() == 0) return;
  const std::span<std::byte> in = mine.raw_bytes();
  const std::span<std::byte> out = all.raw_bytes();
  ::gloo::AllgatherOptions options(context_);
  options.setInput(reinterpret_cast<char*>(in.data()), in.size());
  options.setOutput(reinterpret_cast<char*>(out.data()), out.size());
  options.setTag(tag_of(call));
  ::gloo::allgather(options);
  count_modelled((size() - 1) * static_cast<std::int64_t>(in.size()), size() - 1);
}

void GlooGroup::run_barrier(const Call& call) {
  ::gloo::BarrierOptions options(context_);
  options.setTag(tag_of(call));
  ::gloo::barrier(options);
}

// A message in flight. Posting is all that isend and irecv do; Gloo's own thread moves the bytes.
class GlooGroup::Message final : public Pending {
 public:
  Message(GlooGroup& group, Tensor data, const Call& call)
      : group_(group),
        data_(std::move(data)),
        call_(call),
        buffer_(group.context_->createUnboundBuffer(data_.raw_bytes().data(), data_.bytes())) {
    ++group_.in_flight_;
    group_.guarded(call_, [&] {
      if (call_.verb == Verb::send) {
        buffer_->send(call_.peer, slot_of(call_, group_.rank(), call_.peer));
      } else {
        buffer_->recv(call_.peer, slot_of(call_, call_.peer, group_.rank()));
      }
    });
  }

  // A message that nobody waited for stays in flight, so Gloo may still read or write its tensor:
  // the group keeps both. Not so when the connections are closed.
  ~Message() override {
    if (waited_ || group_.failed()) return;
    const std::scoped_lock lock(group_.dropped_mutex_);
    group_.dropped_.emplace_back(std::move(data_), std::move(buffer_));
  }

  void wait() override {
    waited_ = true;
    --group_.in_flight_;
    group_.guarded(call_, [&] {
      const auto timeout = ms_of(group_.options_.timeout_s);
      const bool arrived =
          call_.verb == Verb::send ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout);
      if (!arrived) throw Error("aborted");
    });
  }

 private:
  GlooGroup& group_;
  Tensor data_;
  Call call_;
  Buffer buffer_;
  bool waited_ = false;
};

Work GlooGroup::start_send(const Tensor& data, int dst, int tag, const Where& where) {
  const Call call{Verb::send, 0, data.numel(), data.dtype(), ReduceOp::sum, dst, tag, where};
  check_alive(call);
  auto message = std::make_unique<Message>(*this, data, call);
  bytes_sent_ += static_cast<std::int64_t>(data.bytes());
  ++messages_sent_;
  return Work(std::move(message));
}

Work GlooGroup::start_recv(Tensor data, int src, int tag, const Where& where) {
  const Call call{Verb::recv, 0, data.numel(), data.dtype(), ReduceOp::sum, src, tag, where};
  check_alive(call);
  return Work(std::make_unique<Message>(*this, std::move(data), call));
}

std::unique_ptr<ProcessGroup> GlooGroup::start_split(int color, int key, const Where& where) {
  const int number = ++splits_;
  CpuDevice host;
  const Tensor all = empty({2 * size()}, DType::int64, host);
  const Tensor mine = empty({2}, DType::int64, host);
  mine.data<std::int64_t>()[0] = color;
  mine.data<std::int64_t>()[1] = key;
  all_gather_now(mine, all, where);
  if (color == no_color) return nullptr;

  const auto pairs = all.data<std::int64_t>();
  std::vector<std::pair<std::int64_t, int>> members;  // (key, rank here), sorted: the new order
  for (int r = 0; r < size(); ++r) {
    const auto at = static_cast<std::size_t>(2 * r);
    if (pairs[at] == color) members.emplace_back(pairs[at + 1], r);
  }
  std::ranges::sort(members);
  if (members.size() == 1) return make_solo_group();
  const auto me = std::ranges::find(members, std::pair<std::int64_t, int>(key, rank()));
  GlooOptions options = options_;
  options.name = text(options_.name, "/split", number, "_color", color);
  return std::make_unique<GlooGroup>(store_, static_cast<int>(me - members.begin()),
                                     static_cast<int>(members.size()), options, transport_);
}

}  // namespace

std::unique_ptr<ProcessGroup> make_gloo_group(Store& store, int rank, int size,
                                              const GlooOptions& options) {
  LOCKSTEP_CHECK(size >= 1 && rank >= 0 && rank < size, "make_gloo_group: rank ", rank, " of ",
                 size, " ranks does not exist; ranks count from 0 to size - 1");
  if (size == 1) return make_solo_group();
  ignore_broken_pipes();
  ::gloo::transport::tcp::attr attributes;
  attributes.hostname = options.hostname;
  Transport transport;
  try {
    transport = ::gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    throw CommError(text("rank ", rank, " cannot listen as ", options.hostname, ": ", error.what(),
                         "; pass a hostname of this machine, such as 127.0.0.1"));
  }
  return std::make_unique<GlooGroup>(store, rank, size, options, std::move(transport));
}

}  // namespace lockstep::comm
