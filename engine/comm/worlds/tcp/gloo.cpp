// ProcessGroup over Gloo's context. The interesting part is failure: a library that says
// "Connection closed by peer [127.0.0.1]:41234" has to become a sentence that names ranks.
//
//   a. An operation throws, or the rank gives the group up. The first failure on this rank poisons
//      the group and aborts its context, so whoever waits, here or at a peer, for whomever, fails
//      within milliseconds as well.
//   b. The ranks tell each other through the store what they were doing, or why they gave up
//      (rendezvous.hpp).
#include "engine/comm/worlds/tcp/tcp_group.hpp"

#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/comm/worlds/ordered_calls.hpp"
#include "engine/comm/worlds/plan_split.hpp"
#include "engine/comm/worlds/rendezvous.hpp"
#include "engine/comm/worlds/tcp/abortable_context.hpp"
#include "engine/comm/worlds/tcp/gloo_agreement.hpp"
#include "engine/comm/worlds/tcp/gloo_collectives.hpp"
#include "engine/comm/worlds/tcp/gloo_store.hpp"

namespace lockstep::comm {

namespace {

using Buffer = std::unique_ptr<::gloo::transport::UnboundBuffer>;
using Wire = std::shared_ptr<::gloo::transport::Device>;

// At least one, and no more than what Gloo can add to its clock.
std::chrono::milliseconds ms_of(double seconds) {
  constexpr double most_s = 1e9;
  return std::chrono::milliseconds(
      static_cast<long long>(std::ceil(std::min(seconds, most_s) * 1000)));
}

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(Store& store, int rank, int size, const GlooOptions& options, Wire transport)
      : ProcessGroup(rank, size, options.names),
        store_(store),
        options_(options),
        keys_(with_prefix(store, "gloo/" + options.name)),
        transport_(std::move(transport)),
        context_(std::make_shared<AbortableContext>(rank, size)),
        exceptions_(std::uncaught_exceptions()),
        calls_(rank, size, names()) {
    const auto ranks =
        meet(*keys_, rank, size, names(), options.hostname, options.name, options.meet_timeout_s);
    context_->setTimeout(ms_of(options.timeout_s));
    std::string refusal;
    try {
      GlooStore bridge(*keys_, options.meet_timeout_s);
      context_->connect(bridge, transport_, [this] { return any_failed(*keys_); });
    } catch (const std::exception& error) {
      std::string hosts;
      for (const Endpoint& other : ranks) hosts += " " + other.host;
      refusal = text(names().place(rank, size), " cannot connect to its peers as ",
                     options.hostname, ": ", error.what(),
                     "; all ranks must be able to reach each other's hostname, which are, ",
                     "from rank 0 on:", hosts);
    }
    shake_hands(*keys_, rank, size, names(), refusal, options.name, options.meet_timeout_s);
  }

  // An operation that nobody waited for would keep the worker until its deadline.
  ~GlooGroup() override {
    if (std::uncaught_exceptions() > exceptions_) {
      GlooGroup::give_up(names().place(rank(), size()) +
                         " gave up its group because of an exception; its output says which");
    } else if (calls_.any_in_flight()) {
      GlooGroup::give_up(names().place(rank(), size()) +
                         " ended its group while operations were in flight; wait for every Work "
                         "first");
    }
  }

  std::string_view backend() const override { return "gloo"; }
  Traffic traffic() const override { return calls_.traffic(); }

 protected:
  Work start(const Collective& collective, const Where& where) override;
  void run(const Collective& collective, const Where& where) override {
    const Call call = calls_.next(collective, where);
    refuse_if_failed(call);
    calls_.run(call, [&] { carry_out(call); });
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override;
  Work start_recv(Tensor data, int src, int tag, const Where& where) override;
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override;
  // The peers ask the store when they find the connections closed.
  void give_up(const std::string& why) override {
    if (given_up_.exchange(true) || !calls_.failure().set(why)) return;
    context_->abort();
    say_given_up(*keys_, rank(), why);
  }

 private:
  class Message;

  // Runs `body`; whatever it throws becomes a CommError and poisons the group. `call` is a Call or
  // a MessageCall.
  template <typename AnyCall, typename Body>
  void guarded(const AnyCall& call, const Body& body) {
    calls_.check_alive(call);
    try {
      body();
    } catch (const std::exception& error) {
      fail(call, error.what());
    }
  }

  // For the rank's own thread: when it throws, the cause is complete and nothing runs any more.
  template <typename AnyCall>
  void refuse_if_failed(const AnyCall& call) {
    if (calls_.failed()) calls_.drain();
    calls_.check_alive(call);
  }

  template <typename AnyCall>
  [[noreturn]] void fail(const AnyCall& call, const std::string& library_says);

  void carry_out(const Call& call);
  void check_agreement(const Call& call, std::chrono::milliseconds timeout);

  Store& store_;
  GlooOptions options_;
  std::unique_ptr<Store> keys_;  // this group's part of the store
  Wire transport_;
  std::shared_ptr<AbortableContext> context_;
  int exceptions_;  // under way when the group was made
  std::atomic<bool> given_up_ = false;

  std::mutex dropped_mutex_;                        // guards what follows
  std::vector<std::pair<Tensor, Buffer>> dropped_;  // messages that nobody waited for

  OrderedCalls calls_;  // last
};

Work GlooGroup::start(const Collective& collective, const Where& where) {
  const Call asked = calls_.next(collective, where);
  refuse_if_failed(asked);
  return calls_.start(asked, [this](const Call& call) { carry_out(call); });
}

template <typename AnyCall>
void GlooGroup::fail(const AnyCall& call, const std::string& library_says) {
  const std::string failed = calls_.failed_text(call);
  const bool first = calls_.failure().set(failed);
  context_->abort();
  if (!first && given_up_) {
    throw CommError(text(failed, "; ", calls_.failure().cause(), " [Gloo: ", library_says, "]"));
  }
  const std::string doing = calls_.text_of_any(call);
  const std::string cause = text(failed, diagnosis(*keys_, rank(), size(), names(), doing),
                                 " [Gloo: ", library_says, "]");
  if (first) calls_.failure().tell_more(cause);
  throw CommError(cause);
}

void GlooGroup::carry_out(const Call& call) {
  const Collective& collective = call.collective;
  const auto timeout = ms_of(collective.timeout_s > 0 ? collective.timeout_s : options_.timeout_s);
  guarded(call, [&] {
    if (options_.agreement == Agreement::checked) check_agreement(call, timeout);
    run_on_gloo(collective, {context_, tag_of(call, size()), timeout});
  });
}

// Ranks that do not agree learn it here, in one small round, and not at the deadline.
void GlooGroup::check_agreement(const Call& call, std::chrono::milliseconds timeout) {
  const Collective& collective = call.collective;
  const GlooRound round{context_, check_tag_of(call), timeout};
  const std::uint64_t mine = agreement_of(call, size());
  for (const std::uint64_t theirs : all_gather_number(mine, round)) {
    if (theirs != mine) throw Error("the calls differ");
  }
  if (collective.input_counts.empty()) return;
  const auto sent_here = exchange_numbers(collective.input_counts, round);
  for (int i = 0; i < size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (sent_here[at] == collective.output_counts[at]) continue;
    throw Error(text(names().name(i), " sends ", sent_here[at], " elements, ", own_name(),
                     " expects ", collective.output_counts[at]));
  }
}

// A message in flight. Posting is all that isend and irecv do; Gloo's own thread moves the bytes.
class GlooGroup::Message final : public Pending {
 public:
  Message(GlooGroup& group, Tensor data, const MessageCall& call)
      : group_(group), data_(std::move(data)), call_(call) {
    group_.calls_.message_started();
    group_.guarded(call_, [&] {
      buffer_ = group_.context_->createUnboundBuffer(data_.raw_bytes().data(), data_.bytes());
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
    if (waited_ || group_.calls_.failed()) return;
    const std::scoped_lock lock(group_.dropped_mutex_);
    group_.dropped_.emplace_back(std::move(data_), std::move(buffer_));
  }

  void wait() override {
    waited_ = true;
    group_.calls_.message_ended();
    group_.refuse_if_failed(call_);
    group_.guarded(call_, [&] {
      const auto timeout = ms_of(group_.options_.timeout_s);
      call_.verb == Verb::send ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout);
    });
  }

 private:
  GlooGroup& group_;
  Tensor data_;
  MessageCall call_;
  Buffer buffer_;
  bool waited_ = false;
};

Work GlooGroup::start_send(const Tensor& data, int dst, int tag, const Where& where) {
  const MessageCall call{Verb::send, dst, tag, data.numel(), data.dtype(), where};
  refuse_if_failed(call);
  auto message = std::make_unique<Message>(*this, data, call);
  calls_.count_message(data);
  return Work(std::move(message));
}

Work GlooGroup::start_recv(Tensor data, int src, int tag, const Where& where) {
  const MessageCall call{Verb::recv, src, tag, data.numel(), data.dtype(), where};
  refuse_if_failed(call);
  return Work(std::make_unique<Message>(*this, std::move(data), call));
}

std::unique_ptr<ProcessGroup> GlooGroup::start_split(int color, int key, const Where& where) {
  const int number = calls_.next_split();
  const std::optional<GroupPlan> plan = plan_split(*this, {color, key}, where);
  if (!plan) return nullptr;
  GlooOptions options = options_;
  options.names = names().of(plan->members);
  if (plan->members.size() == 1) return make_solo_group(options.names);
  options.name = text(options_.name, "/split", number, "_color", color);
  return std::make_unique<GlooGroup>(store_, plan->rank, static_cast<int>(plan->members.size()),
                                     options, transport_);
}

}  // namespace

std::unique_ptr<ProcessGroup> make_tcp_group(Store& store, int rank, int size,
                                             const GlooOptions& options) {
  ignore_broken_pipes();
  ::gloo::transport::tcp::attr attributes;
  attributes.hostname = options.hostname;
  Wire transport;
  try {
    transport = ::gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    throw CommError(text("rank ", rank, " cannot listen as ", options.hostname, ": ", error.what(),
                         "; pass a hostname of this machine, such as 127.0.0.1"));
  }
  return std::make_unique<GlooGroup>(store, rank, size, options, std::move(transport));
}

bool has_tcp_groups() { return true; }

}  // namespace lockstep::comm
