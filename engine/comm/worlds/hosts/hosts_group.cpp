#include "engine/comm/worlds/hosts/hosts_group.hpp"

#include <algorithm>
#include <exception>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/comm/worlds/ordered_calls.hpp"
#include "engine/comm/worlds/plan_split.hpp"
#include "engine/comm/worlds/rendezvous.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"
#include "engine/comm/worlds/tcp/gloo_agreement.hpp"

namespace lockstep::comm {

namespace {

using Kind = CollectiveKind;

// The host of each rank.
struct Hosts {
  explicit Hosts(std::vector<std::string> of_ranks, int me) : names(std::move(of_ranks)) {
    for (int r = 0; r < static_cast<int>(names.size()); ++r) {
      if (first_of(r) == r) leaders.push_back(r);
      if (same(r, me)) here.push_back(r);
    }
  }
  bool same(int one, int other) const {
    return names[static_cast<std::size_t>(one)] == names[static_cast<std::size_t>(other)];
  }
  int first_of(int rank) const {
    return static_cast<int>(std::ranges::find(names, names[static_cast<std::size_t>(rank)]) -
                            names.begin());
  }
  // The place of `rank`'s host among the hosts, and of `rank` among the ranks of this host.
  int host_of(int rank) const { return place_in(leaders, first_of(rank)); }
  int place_here(int rank) const { return place_in(here, rank); }

  static int place_in(const std::vector<int>& list, int rank) {
    return static_cast<int>(std::ranges::find(list, rank) - list.begin());
  }

  std::vector<std::string> names;  // by rank
  std::vector<int> leaders;        // the lowest rank of each host
  std::vector<int> here;           // the ranks of this host
};

class HostsGroup final : public ProcessGroup {
 public:
  HostsGroup(Store& store, int rank, std::vector<std::string> hosts, const GlooOptions& options)
      : ProcessGroup(rank, static_cast<int>(hosts.size()), options.names),
        store_(store),
        options_(options),
        hosts_(std::move(hosts), rank),
        keys_(with_prefix(store, "hosts/" + options.name)),
        exceptions_(std::uncaught_exceptions()),
        calls_(rank, size(), names()) {
    GlooOptions wire = options;
    wire.agreement = Agreement::at_deadline;  // agree() has made sure
    wire.name = options.name + "/all";
    all_ = make_tcp_group(store, rank, size(), wire);
    within_ = make_within();
    if (leads()) {
      wire.name = options.name + "/leaders";
      wire.names = names().of(hosts_.leaders);
      const int leaders = static_cast<int>(hosts_.leaders.size());
      between_ = make_tcp_group(store, hosts_.host_of(rank), leaders, wire);
    }
    // A rank that fails at once must not meet peers that are still connecting.
    barrier_by_hosts({}, Where::current());
  }

  ~HostsGroup() override {
    if (calls_.any_in_flight() || std::uncaught_exceptions() > exceptions_) {
      HostsGroup::give_up(names().place(rank(), size()) + " ended its group in the middle of it");
    }
  }

  std::string_view backend() const override { return "gloo"; }
  Traffic traffic() const override { return calls_.traffic(); }
  Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device) override {
    return within_->allocate_buffer(count, dtype, device);
  }

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
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override;
  void give_up(const std::string& why) override {
    give_up_all(why);
    say_given_up(*keys_, rank(), why);
  }

 private:
  class Message;

  bool leads() const { return hosts_.here.front() == rank(); }
  std::unique_ptr<ProcessGroup> make_within() const;

  void carry_out(const Call& call);
  void agree(const Call& call);
  void all_reduce_by_hosts(const Collective& c, const Where& where);
  void broadcast_by_hosts(const Collective& c, const Where& where);
  void barrier_by_hosts(const Collective& c, const Where& where);
  void broadcast_within(const Collective& c, int root, const Where& where);

  // Whatever is thrown becomes a CommError that says what this rank and the others were doing, and
  // ends all groups. `call` is a Call or a MessageCall.
  template <typename Asked, typename Body>
  void guarded(const Asked& call, const Body& body);
  template <typename Asked>
  [[noreturn]] void fail(const Asked& call, const std::string& why);
  void give_up_all(const std::string& why) const;

  Store& store_;
  GlooOptions options_;
  Hosts hosts_;
  std::unique_ptr<Store> keys_;
  int exceptions_;                         // under way when the group was made
  std::unique_ptr<ProcessGroup> all_;      // every rank, over TCP
  std::unique_ptr<ProcessGroup> within_;   // the ranks of this host
  std::unique_ptr<ProcessGroup> between_;  // the leaders; null for other ranks
  OrderedCalls calls_;                     // last
};

std::unique_ptr<ProcessGroup> HostsGroup::make_within() const {
  const int ranks = static_cast<int>(hosts_.here.size());
  if (ranks == 1) return make_solo_group(names().of(hosts_.here));
  ShmOptions shm;
  shm.timeout_s = options_.timeout_s;
  shm.meet_timeout_s = options_.meet_timeout_s;
  shm.name = text(options_.name, "/host", hosts_.here.front());
  shm.names = names().of(hosts_.here);
  return make_shm_group(store_, hosts_.place_here(rank()), ranks, shm);
}

template <typename Asked, typename Body>
void HostsGroup::guarded(const Asked& call, const Body& body) {
  calls_.check_alive(call);
  try {
    body();
  } catch (const Error& error) {
    fail(call, error.what());
  }
}

template <typename Asked>
void HostsGroup::fail(const Asked& call, const std::string& why) {
  const std::string doing = calls_.text_of_any(call), failed = calls_.failed_text(call);
  // The others first: they wait.
  give_up_all(failed);
  std::string cause = failed + diagnosis(*keys_, rank(), size(), names(), doing) + " [";
  if (hosts_.here.size() > 1) {
    cause += "the ranks of this host are";
    for (const int r : hosts_.here) cause += text(" ", r);
    cause += "; ";
  }
  cause += why + "]";
  calls_.failure().set(cause);
  throw CommError(cause);
}

void HostsGroup::give_up_all(const std::string& why) const {
  give_up_in(*within_, why);
  if (between_) give_up_in(*between_, why);
  give_up_in(*all_, why);
}

void HostsGroup::carry_out(const Call& call) {
  const Collective& c = call.collective;
  guarded(call, [&] {
    if (options_.agreement == Agreement::checked) agree(call);
    switch (c.kind) {
      case Kind::all_reduce:
        return all_reduce_by_hosts(c, call.where);
      case Kind::broadcast:
        return broadcast_by_hosts(c, call.where);
      case Kind::barrier:
        return barrier_by_hosts(c, call.where);
      default:
        run_in(*all_, c, call.where);
    }
  });
}

// Numbers that are equal only if the calls are, gathered within the host and then among the
// leaders.
void HostsGroup::agree(const Call& call) {
  CpuDevice device;
  const auto mine = static_cast<std::int64_t>(agreement_of(call, size()));
  const auto check = [&](ProcessGroup& group, const std::vector<int>& ranks) {
    const Tensor one = empty({1}, DType::int64, device);
    const Tensor all = empty({group.size()}, DType::int64, device);
    one.data<std::int64_t>()[0] = mine;
    Collective gather{.kind = Kind::all_gather, .input = one, .output = all};
    gather.timeout_s = call.collective.timeout_s;
    run_in(group, gather, call.where);
    const auto theirs = all.data<std::int64_t>();
    const auto other = std::ranges::find_if(theirs, [&](auto number) { return number != mine; });
    if (other == theirs.end()) return;
    const int differs = ranks[static_cast<std::size_t>(other - theirs.begin())];
    throw Error(names().name(differs) + " calls something else");
  };
  check(*within_, hosts_.here);
  if (between_) check(*between_, hosts_.leaders);
}

void HostsGroup::broadcast_within(const Collective& c, int root, const Where& where) {
  const bool brings = hosts_.here[static_cast<std::size_t>(root)] == rank();
  run_in(*within_,
         {.kind = Kind::broadcast,
          .root = root,
          .input = brings ? c.output : Tensor(),
          .output = c.output,
          .timeout_s = c.timeout_s},
         where);
}

void HostsGroup::all_reduce_by_hosts(const Collective& c, const Where& where) {
  run_in(*within_,
         {.kind = Kind::reduce,
          .op = c.op,
          .root = 0,
          .input = c.input,
          .output = leads() ? c.output : Tensor(),
          .timeout_s = c.timeout_s},
         where);
  if (between_) run_in(*between_, c, where);
  broadcast_within(c, 0, where);
}

void HostsGroup::broadcast_by_hosts(const Collective& c, const Where& where) {
  const bool at_root = hosts_.same(c.root, rank());
  if (at_root) broadcast_within(c, hosts_.place_here(c.root), where);
  if (between_) {
    run_in(*between_,
           {.kind = Kind::broadcast,
            .root = hosts_.host_of(c.root),
            .input = at_root ? c.output : Tensor(),
            .output = c.output,
            .timeout_s = c.timeout_s},
           where);
  }
  if (!at_root) broadcast_within(c, 0, where);
}

void HostsGroup::barrier_by_hosts(const Collective& c, const Where& where) {
  run_in(*within_, c, where);
  if (between_) run_in(*between_, c, where);
  run_in(*within_, c, where);
}

// A message of one of the groups behind, whose ranks have other numbers.
class HostsGroup::Message final : public Pending {
 public:
  Message(HostsGroup& group, const MessageCall& call, Work inner)
      : group_(group), call_(call), inner_(std::move(inner)) {}
  void wait() override {
    group_.guarded(call_, [&] { inner_.wait(); });
  }

 private:
  HostsGroup& group_;
  MessageCall call_;
  Work inner_;
};

Work HostsGroup::start_send(const Tensor& data, int dst, int tag, const Where& where) {
  const MessageCall call{Verb::send, dst, tag, data.numel(), data.dtype(), where};
  Work inner;
  guarded(call, [&] {
    inner = hosts_.same(dst, rank()) ? within_->isend(data, hosts_.place_here(dst), tag, where)
                                     : all_->isend(data, dst, tag, where);
  });
  calls_.count_message(data);
  return Work(std::make_unique<Message>(*this, call, std::move(inner)));
}

Work HostsGroup::start_recv(Tensor data, int src, int tag, const Where& where) {
  const MessageCall call{Verb::recv, src, tag, data.numel(), data.dtype(), where};
  Work inner;
  guarded(call, [&] {
    inner = hosts_.same(src, rank())
                ? within_->irecv(std::move(data), hosts_.place_here(src), tag, where)
                : all_->irecv(std::move(data), src, tag, where);
  });
  return Work(std::make_unique<Message>(*this, call, std::move(inner)));
}

std::unique_ptr<ProcessGroup> HostsGroup::start_split(int color, int key, const Where& where) {
  const int number = calls_.next_split();
  const std::optional<GroupPlan> plan = plan_split(*this, {color, key}, where);
  if (!plan) return nullptr;
  std::vector<std::string> hosts;
  for (const int member : plan->members) {
    hosts.push_back(hosts_.names[static_cast<std::size_t>(member)]);
  }
  GlooOptions options = options_;
  options.name = text(options_.name, "/split", number, "_color", color);
  options.names = names().of(plan->members);
  return make_group_on(store_, plan->rank, std::move(hosts), options);
}

}  // namespace

std::unique_ptr<ProcessGroup> make_hosts_group(Store& store, int rank,
                                               std::vector<std::string> hosts,
                                               const GlooOptions& options) {
  return std::make_unique<HostsGroup>(store, rank, std::move(hosts), options);
}

}  // namespace lockstep::comm
