// The core as its host sees it: who has asked, who is answered next, and at what time.
#include "engine/sim/core/core.hpp"

#include <algorithm>
#include <cmath>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

constexpr std::size_t strands_max = 64;  // live at once, of one rank
constexpr std::size_t strands_started_max = 4096;

}  // namespace

Core::State::State(Options chosen)
    : options_(std::move(chosen)),
      channels_(static_cast<std::size_t>(std::max(options_.ranks, 0))),
      ready_(std::max(options_.ranks, 0), options_.seed),
      links_(options_.network, std::max(options_.ranks, 0)) {
  const int n = options_.ranks;
  LOCKSTEP_CHECK(n >= 1, "a simulated world needs at least one rank, not ", n);
  const auto size = static_cast<std::size_t>(n);
  strands_.resize(size);
  for (auto& strands : strands_) main_.push_back(&strands.emplace(0, StrandState{}).first->second);
  lost_.resize(size);
  threw_.resize(size);
  counters_.ranks.resize(size);
  live_ = n;
  if (!options_.faults.none()) {
    faults_ = std::make_unique<FaultState>(options_.faults, n, options_.network, options_.seed);
  }
  one_at_a_time_ = !options_.services.empty();
  at_once_ = !one_at_a_time_;
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

std::vector<int> Core::order() const { return state_->ready_.order(); }

bool Core::quiet() const { return state_->waiting_ == state_->live_; }
bool Core::finished() const { return state_->live_ == 0; }
const std::string& Core::gone(int rank) const {
  return state_->lost_[static_cast<std::size_t>(rank)];
}
bool Core::is_over(int rank) const { return state_->is_over(rank); }
const std::optional<Finding>& Core::finding() const { return state_->finding_; }
void Core::fail(Finding finding) { state_->found(std::move(finding)); }
const Counters& Core::counters() const { return state_->counters_; }

StrandState& Core::State::other_strand(Actor actor) {
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

void Core::State::asks_twice(Actor actor, const char* doing) {
  throw Error(text("strand ", actor.strand, " of rank ", actor.rank, " ", doing,
                   " while its last request is still open"));
}

void Core::start(Actor actor, Actor parent, std::string name) {
  const StrandState& origin = state_->running_strand(parent, "starts another");
  auto& strands = state_->strands_[static_cast<std::size_t>(parent.rank)];
  if (actor.rank != parent.rank || actor.strand <= strands.rbegin()->first) {
    throw Error(text("rank ", parent.rank, " starts strand ", actor.strand, " of rank ", actor.rank,
                     "; a rank starts only its own strands, with increasing numbers"));
  }
  const auto live = std::count_if(strands.begin(), strands.end(),
                                  [](const auto& entry) { return entry.second.live; });
  if (static_cast<std::size_t>(live) >= strands_max) {
    throw Error(text("rank ", parent.rank, " has more than ", strands_max, " strands at once"));
  }
  if (strands.size() > strands_started_max) {
    state_->found({FindingKind::traffic_limit,
                   text("traffic limit: rank ", parent.rank, " started more than ",
                        strands_started_max, " strands in one case; does a loop run too often?"),
                   {parent.rank},
                   {}});
  }
  StrandState strand;
  strand.name = std::move(name);
  strand.clock_s = origin.clock_s;
  strand.depth = origin.depth;
  strands.emplace(actor.strand, std::move(strand));
  state_->main_[static_cast<std::size_t>(actor.rank)]->alone = false;
  ++state_->live_;
}

void Core::ask(Actor actor, Request request) {
  StrandState& strand = state_->running_strand(actor, "asks");
  state_->check(actor, request);
  if (request.op == Op::pause) state_->count(actor, request);  // it may be woken before its turn
  ++state_->counters_.ranks[static_cast<std::size_t>(actor.rank)].requests;
  if (state_->faults_ && state_->dies_asking(actor, request)) return;
  strand.running = strand.brief = false;
  strand.asked = std::make_unique<Request>(std::move(request));
  state_->asked_.push_back(actor);
  ++state_->waiting_;
}

std::optional<Reply> Core::ask_and_go_on(Actor actor, Request request) {
  StrandState& strand = state_->running_strand(actor, "asks");
  LOCKSTEP_CHECK(request.op == Op::isend || request.op == Op::irecv, name_of(request.op),
                 " may block, so it is not answered at once");
  state_->check(actor, request);
  state_->count(actor, request);
  ++state_->counters_.ranks[static_cast<std::size_t>(actor.rank)].requests;
  strand.brief = false;
  if (state_->faults_ && state_->dies_asking(actor, request)) return std::nullopt;
  state_->take(actor, std::move(request));
  strand.reply.now = strand.clock_s;
  return std::move(strand.reply);
}

void Core::begins_step(int rank, std::int64_t step) {
  if (state_->faults_) state_->faults_->begins_step(rank, step);
}

double Core::clock_s(Actor actor, double computed_s) const {
  return state_->strand_of(actor).clock_s + computed_s * state_->slowness_of(actor.rank);
}

void Core::end(Actor actor) {
  StrandState& strand = state_->running_strand(actor, "ends");
  if (state_->faults_ && state_->faults_->is_dead(actor.rank, strand.clock_s)) {
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
  const StrandState& by = state_->running_strand(waker, "wakes another");
  StrandState& strand = state_->strand_of(sleeper);
  const bool asks = strand.asked && strand.asked->op == Op::pause;
  if (sleeper.rank != waker.rank || !(asks || strand.pausing)) {
    throw Error(text("rank ", waker.rank, " wakes strand ", sleeper.strand, " of rank ",
                     sleeper.rank, ", which is not paused"));
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
  StrandState& strand = state_->strand_of(actor);
  strand.reply.now = strand.clock_s;
  return std::move(strand.reply);
}

const std::vector<Actor>& Core::step() {
  State& state = *state_;
  LOCKSTEP_CHECK(quiet(),
                 "advance: a strand is still running; the core acts only when all are blocked");
  state.take_asked();
  state.choose_next();
  if (state.faults_) state.strike_next();
  for (const Actor& actor : state.next_) {
    state.strand_of(actor).running = true;
    --state.waiting_;
  }
  if (state.next_.empty() && !finished() && !state.finding_) {
    if (state.leave_joins()) return step();
    state.diagnose_stuck();
  }
  return state.next_;
}

bool Core::State::earlier(const Ready& a, const Ready& b) const {
  const auto key = [&](const Ready& r) {
    return std::tuple(r.time_s, ready_.place_of(r.actor.rank), r.actor.strand);
  };
  return key(a) < key(b);
}

bool Core::State::alive(int rank) const {
  const auto& strands = strands_[static_cast<std::size_t>(rank)];
  return std::any_of(strands.begin(), strands.end(),
                     [](const auto& entry) { return entry.second.live; });
}

}  // namespace lockstep::sim
