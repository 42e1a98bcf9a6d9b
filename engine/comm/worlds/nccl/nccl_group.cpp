// The group of NCCL's half. A collective is asked for by the rank's own thread; the group's worker
// compares what the ranks asked for, behind it, in the order of the calls. So nobody waits for
// words while all is well, and a rank that differs is found before the host reads anything.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/comm/group_by_device.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/worlds/hosts/host.hpp"
#include "engine/comm/worlds/nccl/core.hpp"
#include "engine/comm/worlds/nccl/pair.hpp"
#include "engine/comm/worlds/nccl/wire_calls.hpp"

namespace lockstep::comm {
namespace {

using Kind = CollectiveKind;

class NcclGroup final : public ProcessGroup {
 public:
  // Collective over `words`, a host's group of this one's own.
  //   first_rank  of this rank in the group of make_nccl_group
  NcclGroup(Store& store, Device& gpu, std::unique_ptr<ProcessGroup> words, NcclOptions options,
            int first_rank);
  ~NcclGroup() override;

  std::string_view backend() const override { return "nccl"; }
  bool carries(const Device& device) const override { return &device == &gpu_; }
  Traffic traffic() const override { return {bytes_, messages_, modelled_}; }

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

  NcclCore::Parts parts_of(std::unique_ptr<ProcessGroup> words);
  std::unique_ptr<Line> joined();
  Work start_message(const MessageCall& call, const Tensor& data);
  std::string disagreement_of(const Asked& mine, const std::vector<std::int64_t>& sent,
                              const std::vector<std::int64_t>& expected, double timeout_s,
                              const Where& where);
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
  NcclCore core_;
  std::unique_ptr<Line> line_;                                      // of the collectives
  std::map<std::pair<int, int>, std::unique_ptr<NcclPair>> pairs_;  // by source and destination
  std::uint64_t collectives_ = 0;
  int splits_ = 0;
  std::int64_t bytes_ = 0, messages_ = 0;
  bool modelled_ = false;
  OrderedWorker worker_;  // last: ends before what its operations use
};

// Every rank's value, by rank.
template <typename T, typename Gather>
std::vector<T> gathered(const T& mine, int size, CpuDevice& host, const Gather& gather) {
  const auto bytes = static_cast<std::int64_t>(sizeof mine);
  const Tensor one = empty({bytes}, DType::uint8, host),
               all = empty({size * bytes}, DType::uint8, host);
  std::memcpy(one.raw_bytes().data(), &mine, sizeof mine);
  gather(one, all);
  std::vector<T> values(static_cast<std::size_t>(size));
  std::memcpy(values.data(), all.raw_bytes().data(), values.size() * sizeof mine);
  return values;
}

// Where a rank is.
struct Home {
  std::uint64_t host, gpu;
  std::int64_t process;
  std::int64_t first_rank;
};

// All ranks come to the same sentence.
void check_each_has_a_gpu(const std::vector<Home>& homes) {
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const auto shares = [&](const Home& other) {
      return other.host == homes[rank].host && other.gpu == homes[rank].gpu;
    };
    const auto first = std::ranges::find_if(homes, shares) - homes.begin();
    if (std::cmp_equal(first, rank)) continue;
    throw CommError(text("ranks ", first, " and ", rank, " have the same GPU of one machine, and ",
                         "NCCL needs one for each; start at most as many ranks on a machine as it ",
                         "has GPUs, and let each open its own"));
  }
}

// Of all ranks. Throws where one has no GPU of its own.
std::vector<Home> homes_of(ProcessGroup& words, std::uint64_t gpu, int first_rank,
                           CpuDevice& host) {
  const std::string name = this_host();
  const Home mine{checksum_of(std::as_bytes(std::span(name))), gpu, getpid(), first_rank};
  auto homes = gathered(mine, words.size(), host,
                        [&](const Tensor& one, const Tensor& all) { words.all_gather(one, all); });
  check_each_has_a_gpu(homes);
  return homes;
}

// The other processes that are on this host.
Watchdog::Processes processes_beside(int me, const std::vector<Home>& homes) {
  const Home& mine = homes[static_cast<std::size_t>(me)];
  Watchdog::Processes processes;
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const Home& home = homes[rank];
    if (home.host != mine.host || home.process == mine.process) continue;
    const auto file = static_cast<int>(syscall(SYS_pidfd_open, home.process, 0));
    if (file >= 0) processes.emplace(static_cast<int>(rank), Descriptor(file));
  }
  return processes;
}

NcclGroup::NcclGroup(Store& store, Device& gpu, std::unique_ptr<ProcessGroup> words,
                     NcclOptions options, int first_rank)
    : ProcessGroup(words->rank(), words->size()),
      store_(store),
      gpu_(gpu),
      options_(std::move(options)),
      first_rank_(first_rank),
      core_(parts_of(std::move(words))),
      line_(joined()) {}

NcclCore::Parts NcclGroup::parts_of(std::unique_ptr<ProcessGroup> words) {
  NcclCore::Parts parts;
  parts.rank = rank();
  parts.size = size();
  parts.timeout_s = options_.timeout_s;
  parts.keys = with_prefix(store_, "nccl/" + options_.name);
  parts.wires = gpu::open_wires(gpu_);
  const std::vector<Home> homes = homes_of(*words, parts.wires->place(), first_rank_, host_);
  for (const Home& home : homes) first_ranks_.push_back(static_cast<int>(home.first_rank));
  parts.processes = processes_beside(rank(), homes);
  parts.give_up_words = [words = words.get()](const std::string& why) { give_up_in(*words, why); };
  parts.words = std::move(words);
  return parts;
}

std::unique_ptr<Line> NcclGroup::joined() {
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

// What was started is asked for and compared before the end, or fails at its deadline; then the GPU
// does it.
NcclGroup::~NcclGroup() {
  if (std::uncaught_exceptions() > exceptions_) {
    core_.give_up(text("rank ", rank(), " of ", size(),
                       " gave up its group because of an exception; its output says which"));
  }
  worker_.drain();
  for (const auto& [ends, pair] : pairs_) pair->drain();
  if (!core_.has_failed()) core_.watchdog().wait_until_idle();
  core_.forget_lines();
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
    const auto* const asked = std::get_if<Asked>(&flight_->what());
    return asked != nullptr && asked->kind == static_cast<std::uint8_t>(Kind::barrier);
  }

  NcclCore& core_;
  std::shared_ptr<Flight> flight_;
};

Work NcclGroup::start(const Collective& c, const Where& where) {
  const Call call{c, ++collectives_, where};
  core_.refuse_if_failed([&] { return text_of(call, size()); });
  const Asked mine = asked_of(call, size());
  std::shared_ptr<Flight> flight;
  try {
    flight =
        std::make_shared<Flight>(mine, std::vector<Tensor>{c.input, c.output}, core_.wires().now());
    core_.launch(*line_, flight, wire_calls_of(c, rank(), size()));
  } catch (const Error& error) {
    std::rethrow_exception(core_.failed(text_of(call, size()), error.what()));
  }
  count(modelled_sent(c, rank(), size()));
  modelled_ = true;
  const double timeout_s = c.timeout_s > 0 ? c.timeout_s : options_.timeout_s;
  static_cast<void>(worker_.start(
      [this, flight, mine, timeout_s, where, sent = c.input_counts, expected = c.output_counts] {
        try {
          core_.refuse_if_failed([&] { return flight->doing(); });
          const std::string why = disagreement_of(mine, sent, expected, timeout_s, where);
          if (!why.empty()) throw Error(why);
          flight->checked();
        } catch (const Error& error) {
          flight->failed(core_.failed(flight->doing(), reason_in(error.what())));
        }
      }));
  return Work(std::make_unique<Waiting>(core_, std::move(flight)));
}

// Through the host's group; it has a deadline, and throws where a rank does not come.
std::string NcclGroup::disagreement_of(const Asked& mine, const std::vector<std::int64_t>& sent,
                                       const std::vector<std::int64_t>& expected, double timeout_s,
                                       const Where& where) {
  if (size() == 1) return {};
  const auto run_by_words = [&](Kind kind, const Tensor& in, const Tensor& out) {
    Collective by_words{.kind = kind, .input = in, .output = out};
    by_words.timeout_s = timeout_s;
    run_in(core_.words(), by_words, where);
  };
  const auto asked = gathered(mine, size(), host_, [&](const Tensor& one, const Tensor& all) {
    run_by_words(Kind::all_gather, one, all);
  });
  std::string why = disagreement(asked);
  if (!why.empty() || sent.empty()) return why;
  const Tensor mine_to_each = empty({size()}, DType::int64, host_), to_me = mine_to_each.clone();
  std::ranges::copy(sent, mine_to_each.data<std::int64_t>().begin());
  run_by_words(Kind::all_to_all, mine_to_each, to_me);
  const auto arriving = to_me.data<std::int64_t>();
  return disagreement({arriving.begin(), arriving.end()}, expected, rank());
}

Work NcclGroup::start_message(const MessageCall& call, const Tensor& data) {
  core_.refuse_if_failed([&] { return text_of(call); });
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
  auto flight = std::make_shared<Flight>(call, std::vector<Tensor>{data}, core_.wires().now());
  pair->start(flight, data);
  return Work(std::make_unique<Waiting>(core_, std::move(flight)));
}

std::unique_ptr<ProcessGroup> NcclGroup::start_split(int color, int key, const Where& where) {
  const int number = ++splits_;
  core_.refuse_if_failed([&] { return text("split no. ", number); });
  worker_.drain();  // the words are this thread's then
  auto words = core_.words().split(color, key, where);
  if (words == nullptr) return nullptr;
  NcclOptions options = options_;
  options.name = text(options_.name, "/split", number, "_color", color);
  return std::make_unique<NcclGroup>(store_, gpu_, std::move(words), std::move(options),
                                     first_rank_);
}

}  // namespace

void NcclPairs::add(Pair pair) {
  const std::scoped_lock lock(mutex_);
  pairs_.push_back(pair);
}

std::vector<NcclPairs::Pair> NcclPairs::all() const {
  const std::scoped_lock lock(mutex_);
  return pairs_;
}

std::unique_ptr<ProcessGroup> make_nccl_group(Store& store, Device& gpu,
                                              std::unique_ptr<ProcessGroup> host,
                                              const NcclOptions& options) {
  LOCKSTEP_CHECK(host != nullptr, "make_nccl_group: the host's group is missing");
  const int rank = host->rank(), size = host->size();
  try {
    auto away = std::make_unique<NcclGroup>(store, gpu, host->split(0, rank), options, rank);
    return make_group_by_device(std::move(host), std::move(away));
  } catch (const CommError& error) {
    throw CommError(text("rank ", rank, " of ", size, " cannot join the NCCL group \"",
                         options.name, "\": ", reason_in(error.what())));
  }
}

}  // namespace lockstep::comm
