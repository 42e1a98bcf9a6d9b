// The group of NCCL's half. A collective is asked for by the rank's own thread, and compared with
// the other ranks' behind it. So nobody waits for words while all is well, and a rank that differs
// is found before the host reads anything. The collectives of the host's half pass through here, to
// be compared as well: a rank that waits in the wrong half is told with the others.
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "engine/comm/group_by_device.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/worlds/nccl/comparison.hpp"
#include "engine/comm/worlds/nccl/core.hpp"
#include "engine/comm/worlds/nccl/nccl_pair.hpp"
#include "engine/comm/worlds/nccl/rank_locations.hpp"
#include "engine/comm/worlds/nccl/wire_calls.hpp"

namespace lockstep::comm {
namespace {

using Kind = CollectiveKind;

class NcclGroup final : public ProcessGroup, public Companion {
 public:
  // Collective over `words`, a host's group of this one's own.
  //   first_rank  of this rank in the group of make_nccl_group
  NcclGroup(Store& store, Device& gpu, std::unique_ptr<ProcessGroup> words, NcclOptions options,
            int first_rank);
  ~NcclGroup() override;

  std::string_view backend() const override { return "nccl"; }
  bool carries(const Device& device) const override { return &device == &gpu_; }
  Traffic traffic() const override { return {bytes_, messages_, modelled_}; }

  void accompany(ProcessGroup& host) override { host_half_ = &host; }
  Work start_on_host(const Collective& collective, const Where& where) override;
  void run_on_host(const Collective& collective, const Where& where) override;

 protected:
  Work start(const Collective& collective, const Where& where) override;
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    count({static_cast<std::int64_t>(data.bytes()), 1});
    return start_message({Verb::send, dst, tag, data.numel(), data.dtype(), where}, data);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    return start_message({Verb::recv, src, tag, data.numel(), data.dtype(), where}, data);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override;
  void give_up(const std::string& why) override { core_.give_up(why); }

 private:
  class Waiting;
  class OnHost;

  NcclCore::Parts parts_of(std::unique_ptr<ProcessGroup> words);
  std::unique_ptr<AbortableCommunicator> joined();
  CallFingerprint announced(const Collective& collective, const Where& where);
  template <typename Body>
  auto on_host(const CallFingerprint& mine, const Body& body);
  Work start_message(const MessageCall& call, const Tensor& data);
  double timeout_of(const Collective& c) const {
    return c.timeout_s > 0 ? c.timeout_s : options_.timeout_s;
  }
  void count(const Sent& sent) {
    bytes_ += sent.bytes;
    messages_ += sent.messages;
  }

  Store& store_;
  Device& gpu_;
  const NcclOptions options_;
  const int first_rank_;
  std::vector<int> first_ranks_;  // of all ranks here
  CpuDevice host_;
  const int exceptions_ = std::uncaught_exceptions();  // under way when the group was made
  std::atomic<ProcessGroup*> host_half_ = nullptr;
  NcclCore core_;
  std::unique_ptr<AbortableCommunicator> communicator_;             // of the collectives
  std::map<std::pair<int, int>, std::unique_ptr<NcclPair>> pairs_;  // by source and destination
  std::uint64_t collectives_ = 0;
  int splits_ = 0;
  std::int64_t bytes_ = 0, messages_ = 0;
  bool modelled_ = false;
  Comparison comparison_;  // last: ends before what it uses
};

NcclGroup::NcclGroup(Store& store, Device& gpu, std::unique_ptr<ProcessGroup> words,
                     NcclOptions options, int first_rank)
    : ProcessGroup(words->rank(), words->size(), words->names()),
      store_(store),
      gpu_(gpu),
      options_(std::move(options)),
      first_rank_(first_rank),
      core_(parts_of(std::move(words))),
      communicator_(joined()),
      comparison_(core_, [this](const Collective& c, const Where& where) {
        run_in(core_.words(), c, where);
      }) {}

NcclCore::Parts NcclGroup::parts_of(std::unique_ptr<ProcessGroup> words) {
  NcclCore::Parts parts;
  parts.rank = rank();
  parts.size = size();
  parts.names = names();
  parts.timeout_s = options_.timeout_s;
  parts.keys = with_prefix(store_, "nccl/" + options_.name);
  parts.wires = gpu::open_wires(gpu_);
  const std::vector<RankLocation> locations =
      locations_of(*words, parts.wires->place(), first_rank_);
  for (const RankLocation& location : locations)
    first_ranks_.push_back(static_cast<int>(location.first_rank));
  parts.processes = processes_beside(rank(), locations);
  parts.give_up_host = [this, words = words.get()](const std::string& why) {
    give_up_in(*words, why);
    if (ProcessGroup* const host = host_half_) give_up_in(*host, why);
  };
  parts.words = std::move(words);
  return parts;
}

std::unique_ptr<AbortableCommunicator> NcclGroup::joined() {
  try {
    gpu::WireId id{};
    if (rank() == 0) id = core_.wires().new_id();
    const Tensor shared = empty({static_cast<std::int64_t>(id.size())}, DType::uint8, host_);
    std::memcpy(shared.raw_bytes().data(), id.data(), id.size());
    core_.words().broadcast(shared, 0);
    std::memcpy(id.data(), shared.raw_bytes().data(), id.size());
    return core_.join(id, rank(), size(), -1);
  } catch (const Error& error) {
    throw CommError(error.what());
  }
}

// Operations that were started are issued and compared before the end, or fail at their deadlines;
// then the GPU finishes them.
NcclGroup::~NcclGroup() {
  if (std::uncaught_exceptions() > exceptions_) {
    core_.give_up(names().place(rank(), size()) +
                  " gave up its group because of an exception; its output says which");
  }
  comparison_.drain();
  for (const auto& [ends, pair] : pairs_) pair->drain();
  if (!core_.has_failed()) core_.watchdog().wait_until_idle();
  core_.forget_communicators();
}

// A started operation, for the device to wait for.
class NcclGroup::Waiting final : public Pending {
 public:
  Waiting(NcclCore& core, std::shared_ptr<Flight> flight)
      : core_(core), flight_(std::move(flight)) {}
  void wait() override {
    core_.refuse_if_failed([&] { return flight_->doing(); });
    const auto done = flight_->done();
    if (done == nullptr) {
      if (is_barrier()) flight_->wait_checked();
      return;
    }
    try {
      done->let_device_wait();
    } catch (const gpu::GpuError& error) {
      std::rethrow_exception(core_.failed(flight_->doing(), error.what()));
    }
    core_.waited_for(flight_);
    flight_->let_go();
  }

 private:
  bool is_barrier() const {
    const auto* const asked = std::get_if<CallFingerprint>(&flight_->what());
    return asked != nullptr && asked->kind == static_cast<std::uint8_t>(Kind::barrier);
  }

  NcclCore& core_;
  std::shared_ptr<Flight> flight_;
};

Work NcclGroup::start(const Collective& c, const Where& where) {
  const Call call{c, ++collectives_, where};
  core_.refuse_if_failed([&] { return text_of(call, size()); });
  const CallFingerprint mine = fingerprint_of(call, size());
  std::shared_ptr<Flight> flight;
  try {
    flight =
        std::make_shared<Flight>(mine, std::vector<Tensor>{c.input, c.output}, core_.wires().now());
    core_.launch(*communicator_, flight, wire_calls_of(c, rank(), size()));
  } catch (const Error& error) {
    std::rethrow_exception(core_.failed(text_of(call, size()), error.what()));
  }
  count(modelled_sent(c, rank(), size()));
  modelled_ = true;
  comparison_.add(mine, c, timeout_of(c), where, flight);
  return Work(std::make_unique<Waiting>(core_, std::move(flight)));
}

// Waits for the host half first: its timeout names the late ranks.
CallFingerprint NcclGroup::announced(const Collective& c, const Where& where) {
  constexpr double later_s = 1;
  CallFingerprint mine = fingerprint_of(Call{c, ++collectives_, where}, size());
  mine.on_host = 1;
  core_.refuse_if_failed([&] { return text_of(mine); });
  comparison_.add(mine, c, timeout_of(c) + later_s, where);
  return mine;
}

// An exception of the host's half ends the group. If ranks differ, the group has ended the half.
template <typename Body>
auto NcclGroup::on_host(const CallFingerprint& mine, const Body& body) {
  try {
    return body();
  } catch (const CommError& error) {
    std::rethrow_exception(core_.failed(text_of(mine), reason_in(error.what())));
  }
}

void NcclGroup::run_on_host(const Collective& c, const Where& where) {
  const CallFingerprint mine = announced(c, where);
  on_host(mine, [&] { run_in(*host_half_, c, where); });
}

class NcclGroup::OnHost final : public Pending {
 public:
  OnHost(NcclGroup& group, const CallFingerprint& mine, Work inner)
      : group_(group), mine_(mine), inner_(std::move(inner)) {}
  void wait() override {
    group_.on_host(mine_, [&] { inner_.wait(); });
  }
  std::optional<double> ran_s() const override { return inner_.ran_s(); }

 private:
  NcclGroup& group_;
  const CallFingerprint mine_;
  Work inner_;
};

Work NcclGroup::start_on_host(const Collective& c, const Where& where) {
  const CallFingerprint mine = announced(c, where);
  Work inner = on_host(mine, [&] { return start_in(*host_half_, c, where); });
  return Work(std::make_unique<OnHost>(*this, mine, std::move(inner)));
}

Work NcclGroup::start_message(const MessageCall& call, const Tensor& data) {
  core_.refuse_if_failed([&] { return text_of(call, names()); });
  const bool sends = call.verb == Verb::send;
  const std::pair ends(sends ? rank() : call.peer, sends ? call.peer : rank());
  auto& pair = pairs_[ends];
  if (pair == nullptr) {
    pair = std::make_unique<NcclPair>(core_, ends.first, ends.second);
    if (options_.pairs != nullptr) {
      options_.pairs->add({first_ranks_[static_cast<std::size_t>(ends.first)],
                           first_ranks_[static_cast<std::size_t>(ends.second)]});
    }
  }
  auto flight = std::make_shared<Flight>(Flight::Message{call, names()}, std::vector<Tensor>{data},
                                         core_.wires().now());
  pair->start(flight, data);
  return Work(std::make_unique<Waiting>(core_, std::move(flight)));
}

std::unique_ptr<ProcessGroup> NcclGroup::start_split(int color, int key, const Where& where) {
  const int number = ++splits_;
  core_.refuse_if_failed([&] { return text("split no. ", number); });
  comparison_.drain();  // the words are this thread's then
  auto words = core_.words().split(color, key, where);
  if (words == nullptr) return nullptr;
  NcclOptions options = options_;
  options.name = text(options_.name, "/split", number, "_color", color);
  return std::make_unique<NcclGroup>(store_, gpu_, std::move(words), std::move(options),
                                     first_rank_);
}

}  // namespace

std::unique_ptr<ProcessGroup> make_nccl_group(Store& store, Device& gpu,
                                              std::unique_ptr<ProcessGroup> host,
                                              const NcclOptions& options) {
  LOCKSTEP_CHECK(host != nullptr, "make_nccl_group: the host's group is missing");
  LOCKSTEP_CHECK(options.timeout_s > 0, "make_nccl_group: operations with a deadline of ",
                 options.timeout_s, " s; it must be positive");
  const int rank = host->rank();
  const std::string place = host->names().place(rank, host->size());
  try {
    auto away = std::make_unique<NcclGroup>(store, gpu, host->split(0, rank), options, rank);
    return make_group_by_device(std::move(host), std::move(away));
  } catch (const CommError& error) {
    throw CommError(text(place, " cannot join the NCCL group \"", options.name,
                         "\": ", reason_in(error.what())));
  }
}

}  // namespace lockstep::comm
