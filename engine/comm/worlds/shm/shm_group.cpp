#include "engine/comm/worlds/shm/shm_group.hpp"

#include <exception>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/comm/worlds/ordered_calls.hpp"
#include "engine/comm/worlds/plan_split.hpp"
#include "engine/comm/worlds/rendezvous.hpp"
#include "engine/comm/worlds/shm/collectives.hpp"
#include "engine/comm/worlds/shm/descriptor_passing.hpp"
#include "engine/comm/worlds/shm/messages.hpp"

namespace lockstep::comm {

namespace {

using namespace shm;

class ShmGroup final : public ProcessGroup {
 public:
  explicit ShmGroup(Membership::Meeting meeting)
      : ProcessGroup(meeting.rank, meeting.size, meeting.names),
        membership_(std::move(meeting)),
        collectives_(membership_),
        messages_(membership_),
        exceptions_(std::uncaught_exceptions()),
        calls_(rank(), size(), names()) {}

  ~ShmGroup() override {
    if (std::uncaught_exceptions() > exceptions_) {
      membership_.poison(names().place(rank(), size()) +
                         " gave up its group because of an exception; its output says which");
    } else if (calls_.any_in_flight()) {
      membership_.poison(names().place(rank(), size()) +
                         " ended its group while operations were in flight; wait for "
                         "every Work first");
    }
  }

  std::string_view backend() const override { return "gloo"; }
  Traffic traffic() const override { return calls_.traffic(); }
  Averaging averaging(const Device&) const override { return Averaging::within; }
  Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device) override;

 protected:
  void run(const Collective& collective, const Where& where) override {
    const Call call = calls_.next(collective, where);
    calls_.run(call, [&] { carry_out(call); });
  }
  Work start(const Collective& collective, const Where& where) override {
    return calls_.start(calls_.next(collective, where),
                        [this](const Call& call) { carry_out(call); });
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override;
  Work start_recv(Tensor data, int src, int tag, const Where& where) override;
  void recv_now(Tensor data, int src, int tag, const Where& where) override;
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override;
  void give_up(const std::string& why) override {
    membership_.poison(why);
    calls_.failure().set(why);
  }

 private:
  class Receive;
  void carry_out(const Call& call);
  void receive(const Messages::Ticket& ticket, const Tensor& data, const Where& where);

  // Whatever is thrown becomes a CommError that begins with what this rank was doing, and poisons
  // the group. `call` is a Call or a MessageCall; `late` says what is known of those who did not
  // come.
  template <typename AnyCall, typename Body, typename Late>
  void guarded(const AnyCall& call, const Body& body, const Late& late);
  template <typename AnyCall>
  [[noreturn]] void fail(const AnyCall& call, const std::string& why);
  std::string late_ranks(std::uint64_t number) const;

  Membership membership_;
  Collectives collectives_;
  Messages messages_;
  int exceptions_;      // under way when the group was made
  OrderedCalls calls_;  // last
};

template <typename AnyCall, typename Body, typename Late>
void ShmGroup::guarded(const AnyCall& call, const Body& body, const Late& late) {
  calls_.check_alive(call);
  try {
    body();
  } catch (const Lost& lost) {
    switch (lost.reason) {
      case Lost::Reason::late:
        fail(call, late(lost));
      case Lost::Reason::failed:
        fail(call, "because " + membership_.first_cause());
      case Lost::Reason::left:
        fail(call,
             text(names().name(lost.rank), " has left the group: it ended without this call"));
      case Lost::Reason::ended:
        break;
    }
    fail(call, text("the process of ", names().name(lost.rank),
                    " has ended; look at its last output: ", late(lost)));
  } catch (const Disagreement& disagreement) {
    fail(call, disagreement.what);
  } catch (const Mismatch& mismatch) {
    fail(call, mismatch.what);
  } catch (const Error& error) {
    fail(call, error.what());
  }
}

template <typename AnyCall>
void ShmGroup::fail(const AnyCall& call, const std::string& why) {
  const std::string cause = text(calls_.failed_text(call), "; ", why);
  membership_.poison(cause);
  calls_.failure().set(cause);
  throw CommError(cause);
}

std::string ShmGroup::late_ranks(std::uint64_t number) const {
  const Control& control = membership_.control();
  std::string deeds;
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    const std::uint64_t phase = control.line(other).phase.load(std::memory_order_acquire);
    if (phase / phase_step >= collectives_.arrival()) continue;
    deeds += text(deeds.empty() ? "" : "; ", last_deed(control, other, size(), names(), number));
  }
  return deeds;
}

void ShmGroup::carry_out(const Call& call) {
  const double own = call.collective.timeout_s;
  const double timeout_s = own > 0 ? own : membership_.meeting().timeout_s;
  guarded(
      call,
      [&] {
        collectives_.run(call, {membership_.peer_watch().patience(), timeout_s});
      },
      [&](const Lost& lost) {
        const std::string deeds = late_ranks(call.number);
        if (lost.reason == Lost::Reason::ended) return deeds;
        if (deeds.empty()) {
          return text(names().name(lost.rank), " came and does not go on; it is stopped, or hangs");
        }
        return text("did not come within ", timeout_s, " s: ", deeds);
      });
}

Work ShmGroup::start_send(const Tensor& data, int dst, int tag, const Where& where) {
  const MessageCall call{Verb::send, dst, tag, data.numel(), data.dtype(), where};
  guarded(
      call, [&] { messages_.send(data, dst, tag, where); }, [](const Lost&) { return ""; });
  calls_.count_message(data);
  return {};
}

void ShmGroup::receive(const Messages::Ticket& ticket, const Tensor& data, const Where& where) {
  const MessageCall call{Verb::recv, ticket.src, ticket.tag, data.numel(), data.dtype(), where};
  const auto doing = [&] { return text_of(call, names()); };
  const double timeout_s = membership_.meeting().timeout_s;
  guarded(
      call, [&] { messages_.receive(ticket, data, doing, timeout_s); },
      [&](const Lost& lost) {
        const std::uint64_t next =
            membership_.control().line(lost.rank).finished.load(std::memory_order_acquire) + 1;
        const std::string deed = last_deed(membership_.control(), lost.rank, size(), names(), next);
        if (lost.reason == Lost::Reason::ended) return deed;
        return text("nothing came within ", timeout_s, " s: ", deed);
      });
}

void ShmGroup::recv_now(Tensor data, int src, int tag, const Where& where) {
  receive(messages_.post(src, tag), data, where);
}

class ShmGroup::Receive final : public Pending {
 public:
  Receive(ShmGroup& group, Tensor data, int src, int tag, const Where& where)
      : group_(group),
        data_(std::move(data)),
        where_(where),
        ticket_(group.messages_.post(src, tag)) {}
  ~Receive() override {
    if (!waited_) group_.messages_.drop(ticket_);
  }
  void wait() override {
    waited_ = true;
    group_.receive(ticket_, data_, where_);
  }

 private:
  ShmGroup& group_;
  Tensor data_;
  Where where_;
  Messages::Ticket ticket_;
  bool waited_ = false;
};

Work ShmGroup::start_recv(Tensor data, int src, int tag, const Where& where) {
  return Work(std::make_unique<Receive>(*this, std::move(data), src, tag, where));
}

Tensor ShmGroup::allocate_buffer(std::int64_t count, DType dtype, Device& device) {
  const std::size_t bytes = static_cast<std::size_t>(numel_of({count})) * bytes_of(dtype);
  const auto arena = membership_.meeting().arena;
  const auto block = device.on_host() ? arena->take(bytes) : std::nullopt;
  if (!block) return ProcessGroup::allocate_buffer(count, dtype, device);
  const std::shared_ptr<std::byte> memory(arena->segment().at(*block),
                                          [arena, at = *block](std::byte*) { arena->give(at); });
  return over_memory(memory, {count}, dtype, device);
}

// Two rounds: who belongs together; then the first of each new group says where its control block
// is, which the others' arenas know nothing of.
std::unique_ptr<ProcessGroup> ShmGroup::start_split(int color, int key, const Where& where) {
  const std::optional<GroupPlan> plan = plan_split(*this, {color, key}, where);
  const int count = plan ? static_cast<int>(plan->members.size()) : 0;
  const bool leads = count > 1 && plan->rank == 0;
  Arena& arena = membership_.arena();
  std::optional<std::uint64_t> block;
  if (leads) {
    block = arena.take(Control::bytes_for(count));
    if (block) std::memset(arena.segment().at(*block), 0, Control::bytes_for(count));
  }
  CpuDevice host;
  const Tensor mine = empty({1}, DType::int64, host);
  const Tensor blocks = empty({size()}, DType::int64, host);
  mine.data<std::int64_t>()[0] = static_cast<std::int64_t>(block.value_or(0));
  try {
    all_gather(mine, blocks, where);
  } catch (...) {
    if (block) membership_.give_at_end(*block);  // some member may have been told of it
    throw;
  }
  if (block) arena.give_when({*block}, arena.segment().object<Head>(*block).released);
  if (!plan) return nullptr;
  RankNames split_names = names().of(plan->members);
  if (count == 1) return make_solo_group(std::move(split_names));

  Membership::Meeting meeting = membership_.meeting();
  meeting.names = std::move(split_names);
  const auto leader = static_cast<std::size_t>(plan->members.front());
  meeting.control_at = static_cast<std::uint64_t>(blocks.data<std::int64_t>()[leader]);
  if (meeting.control_at == 0) throw CommError("split: the shared memory is spent");
  meeting.rank = plan->rank;
  meeting.size = count;
  meeting.name += text("/split", calls_.next_split(), "_color", color);
  return std::make_unique<ShmGroup>(std::move(meeting));
}

}  // namespace

std::unique_ptr<ProcessGroup> make_shm_group(Store& store, int rank, int size,
                                             const ShmOptions& options) {
  LOCKSTEP_CHECK(size > 1 && rank >= 0 && rank < size, "make_shm_group: rank ", rank, " of ", size,
                 " ranks; two at least share memory, and ranks count from 0 to size - 1");
  LOCKSTEP_CHECK(options.timeout_s > 0, "make_shm_group: operations with a deadline of ",
                 options.timeout_s, " s; it must be positive");
  const auto keys = with_prefix(store, "shm/" + options.name);
  meet(*keys, rank, size, options.names, "127.0.0.1", options.name, options.meet_timeout_s);
  const Deadline deadline = deadline_after(options.meet_timeout_s);
  std::shared_ptr<Segment> segment;
  if (rank == 0) {
    DescriptorSender sender;
    segment = std::make_shared<Segment>(Layout{Control::bytes_for(size),
                                               arena_bytes_for(static_cast<std::uint64_t>(size)),
                                               static_cast<std::uint64_t>(size)});
    keys->set("socket", sender.name());
    sender.give(segment->file(), size - 1, deadline);
  } else {
    const std::string key = "socket";
    keys->wait({&key, 1}, options.meet_timeout_s);
    segment = std::make_shared<Segment>(take_file(keys->get(key), deadline));
  }
  Membership::Meeting meeting;
  meeting.arena = std::make_shared<Arena>(segment, rank);
  meeting.control_at = segment->control_at();
  meeting.rank = rank;
  meeting.size = size;
  meeting.names = options.names;
  meeting.name = options.name;
  meeting.timeout_s = options.timeout_s;
  meeting.meet_timeout_s = options.meet_timeout_s;
  return std::make_unique<ShmGroup>(std::move(meeting));
}

}  // namespace lockstep::comm
