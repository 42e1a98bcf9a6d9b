// Scheduling: who has asked, who is answered next, and at what time. The work that a request asks
// for is done in matching.cpp and collective.cpp; what may be asked is decided in admission.cpp.
#include "engine/sim/core.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/random.hpp"
#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

constexpr std::size_t strands_max = 64;  // live at once, of one rank
constexpr std::size_t strands_started_max = 4096;

bool is_blocking(Op op) { return op == Op::send || op == Op::recv || op == Op::collective; }

}  // namespace

Core::State::State(Options chosen)
    : options_(std::move(chosen)),
      channels_(static_cast<std::size_t>(std::max(options_.ranks, 0))),
      links_(options_.network, std::max(options_.ranks, 0)) {
  const int n = options_.ranks;
  LOCKSTEP_CHECK(n >= 1, "a simulated world needs at least one rank, not ", n);
  const auto size = static_cast<std::size_t>(n);
  strands_.resize(size);
  for (auto& strands : strands_) main_.push_back(&strands.emplace(0, Strand{}).first->second);
  of_priority_.resize(size);
  by_sender_.resize(size);
  priority_ = random_permutation(n, options_.seed);
  lost_.resize(size);
  handles_.resize(size);
  counters_.ranks.resize(size);
  live_ = n;
  if (!options_.faults.none()) {
    striking_ = std::make_unique<Striking>(options_.faults, n, options_.network, options_.seed);
  }
  one_at_a_time_ = !options_.services.empty();
  Group world;
  for (int rank = 0; rank < n; ++rank) world.members.push_back(rank);
  world.entered.resize(size);
  world.world = true;
  world.nodes = options_.network.node_of(n - 1) + 1;
  groups_.push_back(std::move(world));
  if (options_.timeline != nullptr) recorder_ = std::make_unique<Recorder>(*options_.timeline, n);
}

Core::Core(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Core::~Core() = default;
Core::Core(Core&&) noexcept = default;

int Core::ranks() const { return state_->options_.ranks; }

std::vector<int> Core::order() const {
  std::vector<int> ranks(state_->priority_.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[static_cast<std::size_t>(state_->priority_[rank])] = static_cast<int>(rank);
  }
  return ranks;
}

bool Core::quiet() const { return state_->waiting_ == state_->live_; }
bool Core::finished() const { return state_->live_ == 0; }
const std::string& Core::gone(int rank) const {
  return state_->lost_[static_cast<std::size_t>(rank)];
}
const std::optional<Finding>& Core::finding() const { return state_->finding_; }
void Core::fail(Finding finding) { state_->found(std::move(finding)); }
const Counters& Core::counters() const { return state_->counters_; }

Strand& Core::State::other_strand(Actor actor) {
  if (actor.rank < 0 || actor.rank >= options_.ranks) {
    throw Error(text("there is no rank ", actor.rank, " in a world of ", options_.ranks));
  }
  auto& strands = strands_[static_cast<std::size_t>(actor.rank)];
  const auto found = strands.find(actor.strand);
  if (found == strands.end() || !found->second.live) {
    throw Error(text("rank ", actor.rank, " has no live strand ", actor.strand));
  }
  return found->second;
}

Strand& Core::State::running_strand(Actor actor, const char* doing) {
  Strand& strand = strand_of(actor);
  if (!strand.running) {
    throw Error(text("strand ", actor.strand, " of rank ", actor.rank, " ", doing,
                     " while its last request is still open"));
  }
  return strand;
}

void Core::start(Actor actor, Actor parent, std::string name) {
  const Strand& origin = state_->running_strand(parent, "starts another");
  auto& strands = state_->strands_[static_cast<std::size_t>(parent.rank)];
  if (actor.rank != parent.rank || actor.strand <= strands.rbegin()->first) {
    throw Error(text("rank ", parent.rank, " starts strand ", actor.strand, " of rank ", actor.rank,
                     "; strands are its own and their numbers go up"));
  }
  const auto live = std::count_if(strands.begin(), strands.end(),
                                  [](const auto& entry) { return entry.second.live; });
  if (static_cast<std::size_t>(live) >= strands_max) {
    throw Error(text("rank ", parent.rank, " has more than ", strands_max, " strands at once"));
  }
  if (strands.size() > strands_started_max) {
    state_->found({Verdict::traffic_limit,
                   text("traffic limit: rank ", parent.rank, " started more than ",
                        strands_started_max, " strands in one case; does a loop run too often?"),
                   {parent.rank},
                   {}});
  }
  Strand strand;
  strand.name = std::move(name);
  strand.clock_s = origin.clock_s;
  strand.depth = origin.depth;
  strands.emplace(actor.strand, std::move(strand));
  ++state_->live_;
}

void Core::ask(Actor actor, Request request) {
  Strand& strand = state_->running_strand(actor, "asks");
  state_->check(actor, request);
  state_->count(actor, request);
  if (state_->striking_ && state_->dies_asking(actor, request)) return;
  strand.running = false;
  strand.asked = std::move(request);
  state_->asked_.push_back(actor);
  ++state_->waiting_;
}

std::optional<Reply> Core::ask(Actor actor, const Message& message) {
  Strand& strand = state_->running_strand(actor, "asks");
  state_->check(actor, message);
  state_->count(actor, message);
  if (state_->striking_ && state_->dies_asking(actor, request_of(message))) return std::nullopt;
  state_->take(actor, message);
  const bool at_once = !state_->one_at_a_time_ || message.op != Op::wait;
  if (at_once && !strand.waits_on) {
    state_->ready_.pop_back();  // the last is this strand
    strand.reply.now = strand.clock_s;
    return std::move(strand.reply);
  }
  strand.running = false;
  ++state_->waiting_;
  return std::nullopt;
}

std::optional<Reply> Core::ask_and_go_on(Actor actor, Request request) {
  Strand& strand = state_->running_strand(actor, "asks");
  LOCKSTEP_CHECK(request.op == Op::isend || request.op == Op::irecv, name_of(request.op),
                 " may block, so it is not answered at once");
  state_->check(actor, request);
  state_->count(actor, request);
  if (state_->striking_ && state_->dies_asking(actor, request)) return std::nullopt;
  state_->take(actor, std::move(request));
  state_->ready_.pop_back();  // the last is this strand
  strand.reply.now = strand.clock_s;
  return std::move(strand.reply);
}

double Core::clock_s(Actor actor) const { return state_->strand_of(actor).clock_s; }

void Core::end(Actor actor) {
  Strand& strand = state_->running_strand(actor, "ends");
  if (state_->striking_ && state_->striking_->is_dead(actor.rank, strand.clock_s)) {
    return state_->die_in_time(actor.rank);
  }
  strand.live = strand.running = false;
  --state_->live_;
  auto& rank = state_->counters_.ranks[static_cast<std::size_t>(actor.rank)];
  rank.clock_s = std::max(rank.clock_s, strand.clock_s);
  state_->counters_.makespan_s = std::max(state_->counters_.makespan_s, rank.clock_s);
  state_->release_joiners(actor);
  if (finished() && !state_->finding_) state_->check_end();
}

void Core::wake(Actor sleeper, Actor waker) {
  const Strand& by = state_->running_strand(waker, "wakes another");
  Strand& strand = state_->strand_of(sleeper);
  const bool asks = strand.asked && strand.asked->op == Op::pause;
  if (sleeper.rank != waker.rank || !(asks || strand.pausing)) {
    throw Error(text("rank ", waker.rank, " wakes strand ", sleeper.strand, " of rank ",
                     sleeper.rank, ", which does not pause"));
  }
  if (auto& recorder = state_->recorder_) {
    recorder->waited(sleeper, asks ? *strand.asked : *strand.pausing, strand.clock_s, by.clock_s);
  }
  (asks ? strand.asked : strand.pausing).reset();
  strand.clock_s = std::max(strand.clock_s, by.clock_s);
  strand.depth = std::max(strand.depth, by.depth);
  state_->answer_now(sleeper, {});
}

std::vector<Core::Resume> Core::advance() {
  std::vector<Resume> resumes;
  for (const Actor& actor : step()) resumes.push_back({actor, take_reply(actor)});
  return resumes;
}

Reply Core::take_reply(Actor actor) {
  Strand& strand = state_->strand_of(actor);
  strand.reply.now = strand.clock_s;
  return std::move(strand.reply);
}

const std::vector<Actor>& Core::step() {
  State& state = *state_;
  LOCKSTEP_CHECK(quiet(), "advance: a strand is still running; the core acts when all are blocked");
  state.take_asked();
  state.transfer_matches();
  if (state.any_lost_) state.fail_waiters_of_lost();
  state.choose_next();
  if (state.striking_) state.strike_next();
  for (const Actor& actor : state.next_) {
    state.strand_of(actor).running = true;
    --state.waiting_;
  }
  if (state.next_.empty() && !finished() && !state.finding_) state.diagnose_stuck();
  return state.next_;
}

bool Core::State::earlier(const Ready& a, const Ready& b) const {
  const auto key = [&](const Ready& r) {
    return std::tuple(r.time_s, priority_[static_cast<std::size_t>(r.actor.rank)], r.actor.strand);
  };
  return key(a) < key(b);
}

Reply failed_reply(std::string error) {
  Reply reply;
  reply.status = Status::failed;
  reply.error = std::move(error);
  return reply;
}

bool Core::State::alive(int rank) const {
  const auto& strands = strands_[static_cast<std::size_t>(rank)];
  return std::any_of(strands.begin(), strands.end(),
                     [](const auto& entry) { return entry.second.live; });
}

void Core::State::take(Actor actor, Request request) {
  Strand& strand = strand_of(actor);
  switch (request.op) {
    case Op::wait:
      return take_wait(actor, request.handle, request.checksum);
    case Op::compute:
    case Op::until:
      pass_time(strand, actor, std::move(request));
      return answer_now(actor, {});
    case Op::service:
      strand.serving = std::move(request);
      return;
    case Op::pause:
      strand.pausing = std::move(request);
      return;
    case Op::join: {
      const Strand& other =
          strands_[static_cast<std::size_t>(actor.rank)].at(static_cast<int>(request.handle));
      strand.joining = std::move(request);
      if (!other.live) release_joiners({actor.rank, static_cast<int>(strand.joining->handle)});
      return;
    }
    default:
      break;
  }
  const OperationPtr operation = operation_of(actor, strand);
  operation->request = std::move(request);
  begin(operation, strand);
}

void Core::State::take(Actor actor, const Message& message) {
  if (message.op == Op::wait) {
    return take_wait(actor, message.handle, message.checksum, message.into);
  }
  Strand& strand = strand_of(actor);
  const OperationPtr operation = operation_of(actor, strand);
  fill(operation->request, message);
  if (message.op == Op::isend && !message.data.empty()) {
    operation->kept.assign(message.data.begin(), message.data.end());
    operation->request.data.bytes = operation->kept;
  }
  operation->into = message.into;
  begin(operation, strand);
}

OperationPtr Core::State::operation_of(Actor actor, const Strand& strand) {
  OperationPtr operation = pool_.make();
  operation->owner = actor;
  operation->posted_s = strand.clock_s;
  operation->order = orders_++;
  return operation;
}

void Core::State::begin(const OperationPtr& operation, Strand& strand) {
  const Actor actor = operation->owner;
  const Op op = operation->request.op;
  if (is_blocking(op) || op == Op::split) {
    operation->waiter = actor;
    strand.waits_on = operation;
  } else {
    const auto& data = operation->request.data.bytes;
    operation->checksum = data.empty() ? operation->request.checksum : checksum_of(data);
    strand.reply = {};
    strand.reply.handle = handles_[static_cast<std::size_t>(actor.rank)].add(operation);
    ready_.push_back({strand.clock_s, actor});
  }
  if (op == Op::send || op == Op::isend) {
    operation->depth = strand.depth + 1;
    return post_send(operation);
  }
  if (op == Op::recv || op == Op::irecv) return post_receive(operation);
  enter(operation);
}

void Core::State::take_wait(Actor actor, std::uint64_t handle, std::uint64_t checksum,
                            std::span<std::byte> into) {
  const OperationPtr operation = handles_[static_cast<std::size_t>(actor.rank)].take(handle);
  if (!operation) {  // two strands wait for one handle
    return answer_now(actor, failed_reply("wait: another strand waits for this operation already"));
  }
  operation->into = into;
  const Request& asked = operation->request;
  if (operation->checksum != checksum) {
    const std::string what(asked.op == Op::icollective ? name_of(asked.collective)
                                                       : name_of(asked.op));
    found(
        {Verdict::in_flight,
         text("in flight: rank ", actor.rank, " changed the buffer of its ", what, and_place(asked),
              " before wait() returned; until then the buffer belongs to the operation"),
         {actor.rank},
         place_of(asked)});
  }
  operation->waiter = actor;
  strand_of(actor).waits_on = operation;
  if (operation->done) resume(operation);
}

void Core::State::answer_now(Actor actor, Reply reply) {
  Strand& strand = strand_of(actor);
  strand.reply = std::move(reply);
  ready_.push_back({strand.clock_s, actor});
}

void Core::State::resume(const OperationPtr& operation) {
  if (!operation->waiter) return;
  Strand& strand = strand_of(*operation->waiter);
  strand.waits_on = nullptr;
  if (recorder_) record_wait(*operation, strand.clock_s);
  strand.clock_s = std::max(strand.clock_s, operation->done_s);
  const Op op = operation->request.op;
  if (op == Op::recv || op == Op::irecv) strand.depth = std::max(strand.depth, operation->depth);
  auto& received = operation->reply.data.bytes;
  const auto& into = operation->into;
  if (!received.empty() && received.size() == into.size() && received.data() != into.data()) {
    std::memcpy(into.data(), received.data(), into.size());
    received = into;
  }
  strand.reply = std::move(operation->reply);
  ready_.push_back({strand.clock_s, *operation->waiter});
}

void Core::State::release_joiners(Actor ended) {
  auto& strands = strands_[static_cast<std::size_t>(ended.rank)];
  const Strand& other = strands.at(ended.strand);
  for (auto& [id, strand] : strands) {
    if (!strand.joining || std::cmp_not_equal(strand.joining->handle, ended.strand)) continue;
    if (recorder_) {
      recorder_->waited({ended.rank, id}, *strand.joining, strand.clock_s, other.clock_s);
    }
    strand.joining.reset();
    strand.clock_s = std::max(strand.clock_s, other.clock_s);
    strand.depth = std::max(strand.depth, other.depth);
    answer_now({ended.rank, id}, {});
  }
}

}  // namespace lockstep::sim
