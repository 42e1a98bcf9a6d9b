#include "engine/sim/hosts/fiber_host.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <utility>

#include "engine/sim/hosts/child_run.hpp"
#include "engine/sim/hosts/port_strands.hpp"
#include "engine/sim/hosts/watchdog.hpp"
#include "engine/strand/joined_before.hpp"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t turns_of_sign = std::uint64_t{1} << 32;

// The text of the exception that is being handled, and what kind of end it is for a rank.
Finding finding_of_exception(int rank) {
  try {
    throw;
  } catch (const NotImplemented& error) {
    return {FindingKind::unsolved, error.what(), {rank}, {}};
  } catch (const std::bad_alloc&) {
    return {FindingKind::memory, text("rank ", rank, ": out of memory (bad_alloc)"), {rank}, {}};
  } catch (const OutOfMemory& error) {
    return {FindingKind::memory, text("rank ", rank, ": ", error.what()), {rank}, {}};
  } catch (const std::exception& error) {
    return {FindingKind::crash, text("rank ", rank, " threw: ", error.what()), {rank}, {}};
  } catch (...) {
    return {FindingKind::crash,
            text("rank ", rank, " threw something that is not a std::exception"),
            {rank},
            {}};
  }
}

[[noreturn]] void end_process(const Finding& finding) {
  std::cerr << finding.message << std::endl;
  std::_Exit(1);
}

class FiberHost final : public StrandPort, public Strands {
 public:
  FiberHost(Core& core, const FiberOptions& options)
      : core_(core),
        options_(options),
        last_sign_(options.last_sign != nullptr ? *options.last_sign : own_sign_),
        strands_(static_cast<std::size_t>(core.ranks())),
        watchdog_(options.idle_s, [this](std::uint64_t sign) { report_idle(sign); }) {}

  FiberResult run(const std::function<void(FiberRank&)>& program);

  Reply call(const Request& request) override;
  Answer call(const Message& message) override;
  void compute(double seconds) override { running_->computed_s += seconds; }
  double now_s() override;
  void wait_until(double time_s) override {
    pass_time();
    pass_time(Op::until, time_s);
  }
  int current_strand() const override { return running_->actor.strand; }
  void settle() override { pass_time(); }
  void wake(int strand) override {
    if (!over()) core_.wake({running_->actor.rank, strand}, running_->actor);
  }
  std::unique_ptr<Strand> start(std::string name, std::function<void()> body) override;
  std::unique_ptr<Monitor> make_monitor() override { return make_port_monitor(*this); }

 private:
  // Shared with the handle that start() gave: the failure outlives the strand.
  struct State {
    Actor actor;
    double computed_s = 0;  // that the core has not been told
    // Its last call: `file` of a message, which outlives the run, or `asked_file` of a request.
    const char* file = nullptr;
    int line = 0;
    bool begun = false;
    bool over = false;       // so is the run: the host may be gone
    bool abandoned = false;  // when an exception passed its owner: it is not run any more
    std::optional<Fiber> fiber{};
    std::exception_ptr failure{};
    std::string asked_file{};
    std::string name{};
  };
  using StatePtr = std::shared_ptr<State>;
  class FiberStrand;

  const StatePtr& add(Actor actor, std::string name, std::function<void()> body);
  void go(State& strand);
  void block();
  void begin_to_run(State& strand);
  void end(State& strand);
  void run_rank(FiberRank self, const std::function<void(FiberRank&)>& program);
  void end_all();
  void pass_time();
  void show(const State& strand);
  void pass_time(Op op, double seconds);
  bool over() const;
  const std::string& why_over() const;
  Reply failed() const;
  void report_idle(std::uint64_t sign) const;

  Core& core_;
  const FiberOptions& options_;
  LastSign own_sign_;
  LastSign& last_sign_;
  FiberResult result_;
  std::vector<std::vector<StatePtr>> strands_;  // by rank, by strand; null when it has ended
  std::vector<State*> ready_;                   // this turn's; strands may start others meanwhile
  std::size_t gone_on_ = 0;                     // how many of them
  std::vector<FiberStack> stacks_;              // of strands that have ended
  State* running_ = nullptr;
  std::uint64_t turn_ = 0;
  Watchdog watchdog_;
};

// Dropped without join it is joined. While an exception passes, and nothing else can go on, it is
// abandoned where it stands: what it uses goes with its owner, so it must neither go on nor unwind.
// When the run is over, it is left alone.
class FiberHost::FiberStrand final : public Strand {
 public:
  FiberStrand(FiberHost& host, StatePtr state)
      : host_(host), state_(std::move(state)), exceptions_(std::uncaught_exceptions()) {}
  ~FiberStrand() override {
    if (joined_ || state_->over) return;
    const bool unwinds = std::uncaught_exceptions() > exceptions_;
    try {
      join_strand(host_, state_->actor.strand,
                  unwinds ? JoinFor::while_others_go_on : JoinFor::ever);
    } catch (const std::exception&) {
      state_->abandoned = unwinds;  // or the run is over, and its finding says why
    }
  }
  void join() override {
    LOCKSTEP_CHECK(!joined_, joined_before);
    joined_ = true;
    join_strand(host_, state_->actor.strand);
    if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
  }

 private:
  FiberHost& host_;
  StatePtr state_;
  int exceptions_;
  bool joined_ = false;
};

FiberResult FiberHost::run(const std::function<void(FiberRank&)>& program) {
  result_.failures.resize(strands_.size());
  for (const int rank : core_.order()) {
    add({rank, 0}, "", [this, rank, &program] {
      run_rank({*this, *this, rank, core_.ranks()}, program);
    });
  }
  while (true) {
    for (gone_on_ = 0; gone_on_ < ready_.size();) {
      State& next = *ready_[gone_on_++];
      if (!core_.is_over(next.actor.rank)) go(next);
    }
    ready_.clear();
    if (core_.finding() || core_.finished()) break;
    for (const Actor& actor : core_.step()) {
      ready_.push_back(
          strands_[static_cast<std::size_t>(actor.rank)][static_cast<std::size_t>(actor.strand)]
              .get());
    }
  }
  end_all();
  result_.finding = core_.finding();
  return std::move(result_);
}

const FiberHost::StatePtr& FiberHost::add(Actor actor, std::string name,
                                          std::function<void()> body) {
  auto& of_rank = strands_[static_cast<std::size_t>(actor.rank)];
  const auto state = std::make_shared<State>();
  state->actor = actor;
  state->name = std::move(name);
  FiberStack stack = stacks_.empty() ? FiberStack(options_.stack_bytes) : std::move(stacks_.back());
  if (!stacks_.empty()) stacks_.pop_back();
  state->fiber.emplace(std::move(stack), [this, run = std::move(body)](Fiber&) {
    run();
    pass_time();
  });
  of_rank.push_back(state);
  ready_.push_back(state.get());
  return of_rank.back();
}

void FiberHost::go(State& strand) {
  begin_to_run(strand);
  try {
    strand.fiber->resume();
  } catch (const std::exception& error) {
    running_->failure = std::current_exception();  // read by who joins it
    core_.threw(running_->actor.rank, error.what());
  } catch (...) {
    running_->failure = std::current_exception();
  }
  State& last = *std::exchange(running_, nullptr);
  last_sign_.nobody_runs();
  if (last.fiber->done()) end(last);
}

// The running strand is blocked: who can go on runs in its place, when all of this turn have gone
// on.
void FiberHost::block() {
  State& self = *running_;
  const auto next = gone_on_ < ready_.size() ? std::nullopt : core_.next();
  if (!next) return self.fiber->suspend();
  State& other = *strands_[static_cast<std::size_t>(next->rank)].front();
  begin_to_run(other);
  if (&other != &self) self.fiber->hand_over(*other.fiber);
}

void FiberHost::begin_to_run(State& strand) {
  running_ = &strand;
  strand.begun = true;
  watchdog_.sign(++turn_ * turns_of_sign + static_cast<std::uint64_t>(strand.actor.rank));
  show(strand);
}

void FiberHost::end(State& strand) {
  const Actor actor = strand.actor;
  stacks_.push_back(strand.fiber->take_stack());
  strand.fiber.reset();
  auto& of_rank = strands_[static_cast<std::size_t>(actor.rank)];
  of_rank[static_cast<std::size_t>(actor.strand)] = nullptr;  // and `strand` with it
  if (core_.finding() || !core_.gone(actor.rank).empty()) return;
  if (actor.strand != 0) return core_.end(actor);
  for (const StatePtr& other : of_rank) {
    if (!other) continue;
    return core_.fail({FindingKind::crash,
                       text("the program of rank ", actor.rank, " returned while its strand '",
                            other->name, "' is still running: join() every strand"),
                       {actor.rank},
                       {}});
  }
  core_.end(actor);
}

void FiberHost::run_rank(FiberRank self, const std::function<void(FiberRank&)>& program) {
  try {
    program(self);
  } catch (...) {
    Finding finding = finding_of_exception(self.rank);
    result_.failures[static_cast<std::size_t>(self.rank)] = finding.message;
    if (!core_.gone(self.rank).empty()) return;  // it was killed, and is unwound at the end
    core_.fail(std::move(finding));
  }
}

void FiberHost::show(const State& strand) {
  const int rank = strand.actor.rank;
  strand.file != nullptr ? last_sign_.runs(rank, strand.file, strand.line)
                         : last_sign_.runs(rank, strand.asked_file, strand.line);
}

// Before a strand does what others can see, the core hears for how long it has computed.
void FiberHost::pass_time() {
  const double seconds = std::exchange(running_->computed_s, 0);
  if (seconds > 0) pass_time(Op::compute, seconds);
}

void FiberHost::pass_time(Op op, double seconds) {
  State& self = *running_;
  if (over() || core_.pass_time(self.actor, op, seconds)) return;
  Request request;
  request.op = op;
  request.seconds = seconds;
  core_.ask(self.actor, std::move(request));
  block();
  if (!over()) core_.take_reply(self.actor);
}

// A rank that was killed, and unwinds, has no clock any more.
double FiberHost::now_s() {
  if (!core_.gone(running_->actor.rank).empty()) return 0;
  return core_.clock_s(running_->actor, running_->computed_s);
}

Reply FiberHost::call(const Request& request) {
  pass_time();
  if (!over()) {
    State& self = *running_;
    if (!request.file.empty()) {
      self.file = nullptr;
      self.asked_file = request.file;
      self.line = request.line;
      show(self);
    }
    Request asked = request;
    asked.data = payload_of({request.data.bytes.begin(), request.data.bytes.end()});
    core_.ask(self.actor, std::move(asked));
    block();
    if (!over()) return core_.take_reply(self.actor);
  }
  return failed();
}

Answer FiberHost::call(const Message& message) {
  pass_time();
  State& self = *running_;
  self.file = message.file;
  self.line = message.line;
  show(self);
  if (const Answer* answer = core_.ask(self.actor, message)) return *answer;
  block();
  return core_.take_answer(self.actor);
}

// True if the running strand has nothing more to do but to end.
bool FiberHost::over() const { return core_.is_over(running_->actor.rank); }

const std::string& FiberHost::why_over() const {
  return core_.finding() ? core_.finding()->message : core_.gone(running_->actor.rank);
}

Reply FiberHost::failed() const {
  Reply reply;
  reply.status = Status::failed;
  reply.error = why_over();
  return reply;
}

std::unique_ptr<Strand> FiberHost::start(std::string name, std::function<void()> body) {
  const int rank = running_->actor.rank;
  const Actor actor{rank, static_cast<int>(strands_[static_cast<std::size_t>(rank)].size())};
  pass_time();
  if (over()) throw Error(failed().error);
  core_.start(actor, running_->actor, name);
  return std::make_unique<FiberStrand>(*this, add(actor, std::move(name), std::move(body)));
}

// Blocked strands end, since each call fails now. Those of one rank end youngest first, because
// they may use what older ones own.
void FiberHost::end_all() {
  ready_.clear();
  for (auto& of_rank : strands_) {
    for (std::size_t i = of_rank.size(); i-- > 0;) {
      if (!of_rank[i]) continue;
      of_rank[i]->over = true;
      if (of_rank[i]->begun && !of_rank[i]->abandoned) go(*of_rank[i]);
    }
  }
}

void FiberHost::report_idle(std::uint64_t sign) const {
  const int rank = static_cast<int>(sign % turns_of_sign);
  const std::string place = last_sign_.place();
  const Finding finding{FindingKind::time,
                        text("rank ", rank, " ran for more than ", options_.idle_s, " s",
                             place.empty() ? "" : " since its call at ", place,
                             " without communicating or returning: an endless loop, or "
                             "one whose work grows too fast, as O(n²)?"),
                        {rank},
                        place};
  options_.on_idle ? options_.on_idle(finding) : end_process(finding);
}

}  // namespace

FiberResult run_fibers(Core& core, const std::function<void(FiberRank&)>& program,
                       const FiberOptions& options) {
  return FiberHost(core, options).run(program);
}

}  // namespace lockstep::sim
