#include "grader/parts/09_asynchronous/parameter_server/services.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/units.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::parameter_server {
namespace {

using async_sgd::unbounded;

// Whole numbers over 7: sums depend on their order. None is zero.
Values drawn_values(std::uint64_t salt, std::uint64_t from, std::int64_t count) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = keyed_bits(salt, (from << 12) + static_cast<std::uint64_t>(i));
    const double size = static_cast<double>(1 + bits % 60) / 7;
    values.push_back(bits & (1 << 20) ? size : -size);
  }
  return values;
}

Values telling_values(std::size_t worker, std::int64_t count) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double cancels = worker == 0 ? 0x1p80 : worker == 1 ? -0x1p80 : 7;
    values.push_back(i % 2 == 0 ? cancels : 1.5e308);
  }
  return values;
}

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::pull:
      return "pull";
    case Kind::push:
      return "push";
    case Kind::finish:
      return "finish";
    case Kind::lost:
      break;
  }
  return "lost";
}

std::string ms(double seconds) {
  return text(static_cast<std::int64_t>(seconds * 1e3 + 0.5), " ms");
}

std::size_t first_wrong(const Values& seen, const Values& expected) {
  std::size_t at = 0;
  while (at < expected.size() && near({&seen[at], 1}, {&expected[at], 1})) ++at;
  return at;
}

}  // namespace

LoopsCase Script::of_server() const {
  return {.form = LoopForm::serves,
          .workers = static_cast<int>(workers.size()),
          .staleness = staleness,
          .parameters = drawn_values(salt, 0, count),
          .momentum = 0.5,
          .decay = 0.125};
}

Values Script::pushed_by(std::size_t worker, int k) const {
  if (gradients == Gradients::telling) return telling_values(worker, count);
  if (gradients == Gradients::zeros && worker == 0) return Values(static_cast<std::size_t>(count));
  Values values = drawn_values(salt, (static_cast<std::uint64_t>(k) << 8) + worker, count);
  if (gradients != Gradients::odd || worker != 0 || k != 2) return values;
  values.front() = std::numeric_limits<double>::quiet_NaN();
  values.back() = -std::numeric_limits<double>::infinity();
  return values;
}

std::string Script::description() const {
  return text(counted(std::ssize(workers), "worker"), ", ", counted(count, "element"), ", ",
              staleness == unbounded ? std::string("no bound") : text("a bound of ", staleness));
}

void Script::ask(Situations& asked) const {
  for (std::size_t w = 0; w < workers.size(); ++w) {
    for (int k = 1; k <= workers[w].steps; ++k) ask_of_values(pushed_by(w, k), asked);
    if (workers[w].dies != Death::none) asked.insert(Situation::lost_at_each_request);
  }
  if (workers.size() == 13) asked.insert(Situation::rank_counts);
  asked.insert(Situation::double_digits);  // parameters are of float64
}

WorkersService::WorkersService(const Script& script)
    : script_(script), case_(script.of_server()), states_(script.workers.size()) {
  for (std::size_t w = 0; w < states_.size(); ++w) {
    const Worker& worker = script_.workers[w];
    states_[w].at_s = worker.starts_s;
    if (worker.dies == Death::unborn) states_[w].next = Kind::lost;
  }
}

auto WorkersService::answer(const sim::Actor&, ServerCall call, double now)
    -> std::optional<Answer> {
  if (failure_ || returned_) return answer_with(ServerReply{.stop = 1}, now);
  switch (call.kind) {
    case ServerCall::Kind::next:
      if (auto failure = late_update(call)) return stop(*std::move(failure), now);
      return next_request(now);
    case ServerCall::Kind::answer:
      return take_answer(call, now);
    case ServerCall::Kind::returned:
      break;
  }
  return take_return(call, now);
}

// Above a staleness of 0, each push that was taken is an update by now.
std::optional<Failure> WorkersService::late_update(const ServerCall& call) const {
  const auto pushes = std::ranges::count(taken_, Kind::push, &Taken::kind);
  if (script_.staleness == 0 || std::cmp_equal(call.updates, pushes)) return std::nullopt;
  return because({"late_update", "make an update of each push before the next request is taken"},
                 {.message = text("after ", counted(pushes, "push"), ", next() was called when ",
                                  counted(call.updates, "update"), " had been made"),
                  .expected = counted(pushes, "update"),
                  .seen = counted(call.updates, "update")});
}

auto WorkersService::stop(Failure failure, double now) -> Answer {
  failure.where = text("after ", ms(now), "; the last requests: ", history());
  failure_ = std::move(failure);
  return answer_with(ServerReply{.stop = 1}, now);
}

// The engine hands out a pull when may_start() lets the worker go on, as its contract says.
bool WorkersService::may_pull(std::size_t worker) const {
  if (script_.staleness == unbounded) return true;
  return std::ranges::all_of(states_, [&](const State& other) {
    return other.left || states_[worker].pushed - other.pushed <= script_.staleness;
  });
}

std::optional<std::size_t> WorkersService::whose_turn() const {
  std::optional<std::size_t> turn;
  for (std::size_t w = 0; w < states_.size(); ++w) {
    const State& state = states_[w];
    if (state.left || state.waits || (state.next == Kind::pull && !may_pull(w))) continue;
    if (!turn || state.at_s < states_[*turn].at_s) turn = w;
  }
  return turn;
}

auto WorkersService::next_request(double now) -> Answer {
  const auto turn = whose_turn();
  if (!turn) {
    std::vector<std::size_t> waiting;
    for (std::size_t w = 0; w < states_.size(); ++w) {
      if (states_[w].waits) waiting.push_back(w);
    }
    const bool over = waiting.empty();
    const Cause cause =
        over ? Cause{"goes_on_alone", "return when the last worker has finished or is lost"}
             : Cause{"keeps_waiting",
                     "answer a pull at once; no worker asks for anything while it "
                     "waits for the parameters"};
    const std::string who = waiting.size() == 1 ? text("worker ", waiting.front(), " waits")
                                                : text("workers ", listed(waiting), " wait");
    return stop(
        because(cause, {.verdict = Verdict::deadlock,
                        .message = over ? "next() was called when all workers had left, and "
                                          "waits for ever"
                                        : text("next() was called while ", who,
                                               " for the parameters, and nobody else has "
                                               "anything to ask: it waits for ever"),
                        .expected = over ? "serve() returns" : "an answer",
                        .seen = "next()"}),
        now);
  }
  State& state = states_[*turn];
  const double at_s = std::max(now, state.at_s);
  ServerReply reply{.kind = state.next, .worker = static_cast<int>(*turn)};
  if (state.next == Kind::push) {
    reply.rate = 0.5 / (1 + state.pushed);
    reply.gradient = script_.pushed_by(*turn, 1 + state.pushed);
  }
  taken_.push_back({reply.kind, reply.worker, reply.rate, reply.gradient});
  go_on_after(*turn, state.next, at_s);
  return answer_with(reply, at_s);
}

// Decides what the worker asks next, now that this was taken.
void WorkersService::go_on_after(std::size_t worker, Kind kind, double now) {
  State& state = states_[worker];
  const Worker& does = script_.workers[worker];
  if (kind == Kind::finish || kind == Kind::lost) {
    state.left = true;
  } else if (kind == Kind::pull) {
    state.waits = true;
    answered_.push_back({static_cast<int>(worker), now, -1, ""});
  } else {
    ++state.pushed;
    const bool last = state.pushed >= does.steps;
    state.next = Kind::pull;
    state.at_s = now;
    if (last && does.dies == Death::pushed) {
      state.next = Kind::lost;
      state.at_s = now + 0.1 * does.step_s;
    } else if (last && does.dies == Death::none && !does.pulls_at_end) {
      state.next = Kind::finish;
    }
  }
}

auto WorkersService::take_answer(const ServerCall& call, double now) -> Answer {
  const bool exists = call.worker >= 0 && call.worker < case_.workers;
  if (!exists || !states_[static_cast<std::size_t>(call.worker)].waits) {
    Cause cause{"unasked", "answer each pull once, and nothing else"};
    if (exists && states_[static_cast<std::size_t>(call.worker)].left) {
      cause = {"answers_the_dead", "a worker that has finished or is lost takes no answer"};
    }
    return stop(because(cause, {.message = text("worker ", call.worker,
                                                " was answered, and does not wait for an answer"),
                                .expected = "an answer to a pull",
                                .seen = text("an answer to worker ", call.worker)}),
                now);
  }
  const auto worker = static_cast<std::size_t>(call.worker);
  const Values right = versions(case_, taken_).back();
  if (!near(call.values, right)) {
    return stop(wrong_values(text("worker ", call.worker, " was answered"), call.values), now);
  }
  State& state = states_[worker];
  const Worker& does = script_.workers[worker];
  state.waits = false;
  const auto asked = std::ranges::find_if(answered_, [&](const Answered& one) {
    return one.worker == call.worker && one.answered_s < 0;
  });
  asked->answered_s = now;
  asked->by = text("worker ", taken_.back().worker, "'s ", name_of(taken_.back().kind));
  const bool done = state.pushed >= does.steps;
  state.next = !done ? Kind::push : does.dies == Death::computing ? Kind::lost : Kind::finish;
  state.at_s = now + (state.next == Kind::finish ? 0 : does.step_s);
  return answer_with(ServerReply{}, now);
}

auto WorkersService::take_return(const ServerCall& call, double now) -> Answer {
  for (std::size_t w = 0; w < states_.size(); ++w) {
    if (states_[w].left) continue;
    return stop(because({"ends_early", "serve until every worker has finished or is lost"},
                        {.verdict = Verdict::rank_exited,
                         .message = text("serve() returned while worker ", w, " was still at work"),
                         .expected = text("requests until worker ", w, " leaves"),
                         .seen = text("a return after ", counted(std::ssize(taken_), "request"))}),
                now);
  }
  const Values right = versions(case_, taken_).back();
  if (!near(call.values, right)) {
    return stop(wrong_values("serve() returned", call.values), now);
  }
  at_the_end_ = call.values;
  returned_ = true;
  return answer_with(ServerReply{}, now);
}

Failure WorkersService::wrong_values(const std::string& what, const Values& seen) const {
  const Values right = versions(case_, taken_).back();
  const Cause cause = cause_of(case_, taken_, seen);
  if (seen.size() != right.size()) {
    return because(cause, {.message = text(what, " with ", counted(std::ssize(seen), "element"),
                                           " of ", right.size()),
                           .expected = counted(std::ssize(right), "element"),
                           .seen = counted(std::ssize(seen), "element")});
  }
  const std::size_t at = first_wrong(seen, right);
  const std::string expected = number_at(right, at), got = number_at(seen, at);
  return because(cause, {.message = text(what, ", and element ", at, " of the parameters is ", got,
                                         " where ", expected, " was expected"),
                         .expected = expected,
                         .seen = got});
}

std::string WorkersService::history() const {
  constexpr std::size_t shown = 8;
  std::string all;
  for (std::size_t k = taken_.size() - std::min(shown, taken_.size()); k < taken_.size(); ++k) {
    all += text(all.empty() ? "" : ", ", taken_[k].worker, " ", name_of(taken_[k].kind));
  }
  return all.empty() ? "none" : all;
}

Values ServersService::drawn(std::uint64_t what, int number) const {
  Values values = drawn_values(salt_ + what, static_cast<std::uint64_t>(number), count_);
  // One gradient is not finite; it is pushed like any other.
  if (what == 2 && number == 3) values.front() = std::numeric_limits<double>::quiet_NaN();
  return values;
}

auto ServersService::stop(Failure failure, double now) -> Answer {
  failure.where = step();
  failure_ = std::move(failure);
  return answer_with(WorkerReply{.stop = 1}, now);
}

auto ServersService::answer(const sim::Actor&, WorkerCall call, double now)
    -> std::optional<Answer> {
  if (failure_ || returned_) return answer_with(WorkerReply{.stop = 1}, now);
  switch (call.kind) {
    case WorkerCall::Kind::pull:
      ++pulls_before_push_;
      return answer_with(WorkerReply{.values = drawn(1, ++pulls_)}, now);
    case WorkerCall::Kind::gradient:
      return compute(call, now);
    case WorkerCall::Kind::push:
      return take_push(call, now);
    case WorkerCall::Kind::returned:
      break;
  }
  if (pushes_ != steps_) {
    return stop(because({"other_steps", "each step is one pull, one gradient and one push"},
                        {.message = text("work() made ", counted(pushes_, "push"), " in ",
                                         counted(steps_, "step")),
                         .expected = counted(steps_, "push"),
                         .seen = counted(pushes_, "push")}),
                now);
  }
  returned_ = true;
  return answer_with(WorkerReply{}, now);
}

auto ServersService::compute(const WorkerCall& call, double now) -> Answer {
  const bool fresh = pulls_ > 0 && near(call.values, drawn(1, pulls_));
  if (!fresh || pulls_before_push_ == 0) {
    Cause cause{"other_parameters_pulled", "pass on what pull() returns, as it is"};
    for (int old = 1; old <= pulls_; ++old) {
      if (near(call.values, drawn(1, old))) {
        cause = {"stale_copy", "pull in each step, before the gradient"};
      }
    }
    if (pulls_before_push_ == 0) cause = {"stale_copy", "pull in each step, before the gradient"};
    return stop(because(cause, {.message = text("in ", step(),
                                                ", the gradient was computed at "
                                                "other parameters than the newest"),
                                .expected = "the parameters of a pull in this step",
                                .seen = "others"}),
                now);
  }
  if (++gradients_before_push_ > 1) {
    return stop(because({"computes_twice", "each gradient is of another batch; push every one"},
                        {.message = text("in ", step(), ", a second gradient was computed"),
                         .expected = "one gradient",
                         .seen = "two"}),
                now);
  }
  return answer_with(WorkerReply{.values = drawn(2, ++gradients_)}, now + 0.01);
}

auto ServersService::take_push(const WorkerCall& call, double now) -> Answer {
  const bool computed = gradients_before_push_ == 1;
  if (!computed || !near(call.values, drawn(2, gradients_)) || pushes_ == steps_) {
    Cause cause{"other_gradient", "push the gradient as it was computed; the server scales it"};
    std::string message = text("in ", step(), ", something else than the gradient was pushed");
    if (computed && pulls_before_push_ > 1 && near(call.values, drawn(1, pulls_))) {
      cause = {"pulls_ahead",
               "there was a second pull() before the push: it wrote over the gradient, which is "
               "where the pulled parameters were, and the next gradient would be computed at "
               "parameters from before this push; pull, compute and push in each step"};
      message = text("in ", step(), ", parameters were pushed, and not the gradient");
    }
    if (!computed) {
      cause = {"pushes_twice", "each gradient is pushed once"};
      message = pushes_ > 0 ? text("after push ", pushes_, ", there was another without a gradient")
                            : "there was a push before a gradient was computed";
    } else if (pushes_ == steps_) {
      cause = {"other_steps", "each step is one pull, one gradient and one push"};
      message = text("there was another push after ", counted(steps_, "step"));
    }
    return stop(
        because(cause, {.message = message, .expected = "one push a gradient", .seen = "another"}),
        now);
  }
  ++pushes_;
  pulls_before_push_ = gradients_before_push_ = 0;
  return answer_with(WorkerReply{}, now);
}

}  // namespace lockstep::grader::parameter_server
