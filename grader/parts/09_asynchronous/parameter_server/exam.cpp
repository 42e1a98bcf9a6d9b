// The exam of parameter_server. The judge is all workers of a server, so it decides in virtual time
// when each asks for what, and knows which parameters every answer has to hold. A server's own work
// takes no time: whatever a worker waits, it waits for another worker. For work(), the judge is the
// servers and the model.
#include <algorithm>

#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/09_asynchronous/parameter_server/services.hpp"

namespace lockstep::grader::parameter_server {
namespace {

using async_sgd::unbounded;

// An answer that comes later than its pull waited for what another worker did.
void check_prompt(CaseRunner& runner, const Played& played, const Script&,
                  const WorkersService& service) {
  const auto wait_s = [](const Answered& one) { return one.answered_s - one.asked_s; };
  const auto& all = service.answered();
  const auto longest = std::ranges::max_element(all, {}, wait_s);
  if (longest == all.end() || wait_s(*longest) <= 1e-9) return;
  const auto ms = [](double seconds) { return text(seconds * 1e3, " ms"); };
  runner.fail(
      played,
      because({"waits_for_others", "answer a pull at once, and wait for no other worker"},
              {.verdict = Verdict::efficiency,
               .message = text("worker ", longest->worker, " asked for the parameters after ",
                               ms(longest->asked_s), " and was answered after ",
                               ms(longest->answered_s), ", when ", longest->by,
                               " had come: its step took ", ms(wait_s(*longest)), " longer"),
               .expected = "an answer at once",
               .seen = text("an answer ", ms(wait_s(*longest)), " later")}));
}

std::int64_t requests_max(const auto&) { return 4'000; }  // ten times what the longest case needs

// Fails by what the service found wrong while it served, or when the part ended without a word.
void require_right(CaseRunner& runner, const Played& played, const auto& service,
                   const std::string& silent, const std::string& expected) {
  if (service.failure()) runner.fail(played, *service.failure());
  if (service.returned()) return;
  runner.fail(played,
              {.cause = "no_request", .message = silent, .expected = expected, .seen = "none"});
}

Script salted(Script script, std::uint64_t salt) {
  script.salt = salt;
  return script;
}

void fewer_steps(const Script& script, std::vector<Script>& offered) {
  Script& fewer = offered.emplace_back(script);
  for (Worker& worker : fewer.workers) worker.steps = std::min(worker.steps, 1);
}

const ServicesContract<Script, LoopsCase, WorkersService> contract{
    .case_of = [](const Script& p, std::uint64_t salt, int) { return salted(p, salt).of_server(); },
    .compare =
        [](CaseRunner& runner, const Played& played, const Script&, std::uint64_t, const auto&,
           const WorkersService& service) {
          require_right(runner, played, service,
                        "the server ended without a request of its workers",
                        "requests until all workers have left");
        },
    .ask_of = [](const Script& p, std::uint64_t salt, int, const LoopsCase&,
                 Situations& asked) { salted(p, salt).ask(asked); },
    .smaller = smaller_by(shorter(&Script::workers), fewer_steps, down_to(&Script::count, 1)),
    .services = [](CaseRunner&, const Script& p,
                   std::uint64_t salt) { return std::tuple(WorkersService(salted(p, salt))); },
    .requests_max = requests_max<Script>};

// Workers of different speeds, with equally many steps.
const RanksChecks checks(contract, [](CaseRunner& runner, int workers) {
  Script script{.count = 1 + static_cast<std::int64_t>(runner.draw() % 7),
                .schedule_seed = runner.draw()};
  for (int w = 0; w < workers; ++w) {
    Worker& worker = script.workers.emplace_back();
    worker.step_s = 1e-3 * static_cast<double>(runner.draw_between(10, 40));
    worker.starts_s = 1e-4 * static_cast<double>(runner.draw_between(0, 9));
    worker.steps = workers < 8 ? 5 : workers < 70 ? 3 : 2;
    worker.pulls_at_end = w % 2 == 0;
  }
  return script;
});

auto bound(std::int64_t staleness) { return with(&Script::staleness, staleness); }

// A push of values that are not finite, or of nothing but zeros, is one like any other.
Question odd_pushes(std::int64_t staleness) {
  return checks.each(3, &Script::gradients, {Gradients::odd, Gradients::zeros},
                     [staleness](Script& p) {
                       p.staleness = staleness;
                       p.count = 3;
                     });
}

void slow_worker(CaseRunner& runner) {
  for (const int workers : {2, 4, 6}) {
    for (const int slow : {0, workers - 1}) {
      checks.then(check_prompt).ask(runner, workers, [slow](Script& p) {
        p.staleness = unbounded;
        for (Worker& worker : p.workers) worker.step_s = 0.01, worker.steps = 8;
        Worker& slowest = p.workers[static_cast<std::size_t>(slow)];
        slowest.step_s *= 4;
        slowest.steps = 2;
      });
    }
  }
}

// Some finish long before the others; one has nothing to do at all but to pull.
Question uneven(std::int64_t staleness) {
  return [=](CaseRunner& runner) {
    for (const int workers : {2, 3, 5, 8}) {
      Script script = checks.usual(runner, workers, bound(staleness));
      for (Worker& worker : script.workers) {
        worker.steps = static_cast<int>(runner.draw_between(1, 7));
      }
      script.workers[runner.draw() % script.workers.size()].steps = 0;
      checks.ask(runner, script);
    }
  };
}

// So many die in this way, after one or two pushes, and the others go on.
void lose(CaseRunner& runner, int workers, std::int64_t staleness, Death death, int dead) {
  const std::uint64_t first = runner.draw();
  checks.ask(runner, workers, [&](Script& p) {
    p.staleness = staleness;
    for (int k = 0; k < dead; ++k) {
      Worker& worker = p.workers[(first + static_cast<std::uint64_t>(k)) % p.workers.size()];
      worker.dies = death;
      worker.steps = death == Death::unborn ? 0 : 1 + k;
      // In a round it is not the last to push, so that it dies while the others are waited for.
      if (death == Death::pushed) worker.step_s = 2e-3;
    }
  });
}
Question lost(const std::vector<std::int64_t>& bounds) {
  return [=](CaseRunner& runner) {
    for (const Death death : {Death::computing, Death::pushed, Death::unborn}) {
      for (const std::int64_t staleness : bounds) {
        lose(runner, 3, staleness, death, 1);
        lose(runner, 5, staleness, death, 2);
      }
    }
    lose(runner, 4, bounds.front(), Death::pushed, 4);  // all of them
    lose(runner, 1, bounds.front(), Death::unborn, 1);
  };
}

// The same pushes, the first worker first, the last worker first, and in any order.
void any_arrival(CaseRunner& runner) {
  for (const int workers : {3, 5, 8, 13}) {
    Script script = checks.usual(runner, workers, bound(0));
    script.count = 40;
    const std::uint64_t salt = runner.draw();
    std::optional<Values> before;
    const auto watched = checks.then([&](CaseRunner& at, const Played& played, const Script&,
                                         const WorkersService& service) {
      if (before && service.at_the_end() != *before) {
        at.fail(played, because({"order_of_arrival",
                                 "pushes were added in the order in which they came; add them in "
                                 "the order of workers"},
                                {.message = "the same pushes gave other bits when they came in "
                                            "another order",
                                 .expected = "the same parameters, bit for bit",
                                 .seen = "others"}));
      }
      before = service.at_the_end();
    });
    for (const int order : {0, 1, 2}) {
      for (int w = 0; w < workers; ++w) {
        const int place = order == 0 ? w : order == 1 ? workers - w : w * 5 % workers;
        Worker& worker = script.workers[static_cast<std::size_t>(w)];
        worker.step_s = 0.01 + 0.002 * place;
        worker.steps = 3;
      }
      play(runner, watched.contract(), script, salt);
    }
  }
}

// A worker that comes late: its first pull finds a round in which the others have pushed. With
// nothing to do it only leaves, and that completes the round, the last one of all.
void late_to_a_round(CaseRunner& runner) {
  for (const int steps : {2, 0}) {
    for (const Death death : {Death::none, Death::unborn}) {
      checks.ask(runner, 3, [&](Script& p) {
        p.staleness = 0;
        for (Worker& worker : p.workers) worker.pulls_at_end = false, worker.steps = 2;
        Worker& late = p.workers[1];
        late.starts_s = 0.5;
        late.steps = death == Death::unborn ? 0 : steps;
        late.dies = death;
        if (late.steps == 0) p.workers[0].steps = p.workers[2].steps = 1;
      });
    }
  }
}

const RanksChecks loops(ServicesContract<WorkerLoop, LoopsCase, ServersService>{
    .case_of =
        [](const WorkerLoop& p, std::uint64_t, int) {
          return LoopsCase{.form = LoopForm::works,
                           .parameters = Values(static_cast<std::size_t>(p.count)),
                           .steps = p.steps};
        },
    .compare =
        [](CaseRunner& runner, const Played& played, const WorkerLoop& p, std::uint64_t,
           const auto&, const ServersService& service) {
          require_right(runner, played, service, "the worker ended without a word to its servers",
                        counted(p.steps, "step"));
          if (service.pulls() <= p.steps) return;
          const std::string seen = counted(service.pulls(), "time");
          runner.fail(played, because({"pulls_too_often", "one pull a step is enough"},
                                      {.verdict = Verdict::efficiency,
                                       .message = text("in ", counted(p.steps, "step"),
                                                       " the parameters were pulled ", seen,
                                                       ", and each pull brings all of them"),
                                       .expected = counted(p.steps, "pull"),
                                       .seen = counted(service.pulls(), "pull")}));
        },
    .smaller = smaller_by(down_to(&WorkerLoop::steps, 1), one_less(&WorkerLoop::steps),
                          down_to(&WorkerLoop::count, 1)),
    .services = [](CaseRunner&, const WorkerLoop& p,
                   std::uint64_t salt) { return std::tuple(ServersService(p, salt)); },
    .requests_max = requests_max<WorkerLoop>});

}  // namespace

Exam exam() {
  return {
      {.name = "in each step a worker pulls, computes at what it has pulled, and pushes that",
       .run = in_turn(loops.each(1, &WorkerLoop::steps, {1, 3, 8, 0}),
                      loops.each(1, &WorkerLoop::steps, {1, 3, 8, 0}, with(&WorkerLoop::count, 1))),
       .begins = Step{"the worker's loop", 20}},
      {.name = "with one worker, each push is an update before the next pull is answered",
       .run = in_turn(checks.each(1, &Script::count, {5, 1, 7, 2}, bound(unbounded)),
                      checks.twice(1, bound(unbounded))),
       .builds_on = std::vector<std::size_t>{},
       .begins = Step{"a server that updates at once", 40}},
      {.name =
           "each of several workers' pushes is an update, times 1/workers, and answers are whole",
       .run = in_turn(checks.on({2, 3, 4, 5, 7, 8, 13, 70}, bound(unbounded)),
                      checks.on({2, 3, 4, 5, 7, 8, 13}, bound(1)),
                      checks.on({2, 3, 4, 5, 7, 8, 13}, bound(3))),
       .builds_on = std::vector<std::size_t>{1}},
      {.name = "a worker that is four times slower changes nobody else's step",
       .run = slow_worker,
       .builds_on = std::vector<std::size_t>{1, 2},
       .asks = Asks::cost},
      {.name = "the server ends when the last worker has finished, whoever finished before",
       .run = in_turn(uneven(unbounded), uneven(2)),
       .builds_on = std::vector<std::size_t>{1, 2}},
      {.name = "a lost worker is left out, its pushes count, and the others go on",
       .run = lost({unbounded, 1}),
       .builds_on = std::vector<std::size_t>{1, 2}},
      {.name = "with a staleness of 0, a round is one update with the mean of its pushes",
       .run = checks.on({1, 2, 3, 4, 5, 7, 8, 13, 70}, bound(0)),
       .builds_on = std::vector<std::size_t>{1},
       .begins = Step{"rounds", 40}},
      {.name = "a round's pushes are multiplied, and then added in the order of workers, whoever "
               "came first",
       .run = in_turn(any_arrival, checks.on({3},
                                             [](Script& p) {
                                               p.staleness = 0;
                                               p.gradients = Gradients::telling;
                                               p.count = 4;
                                             })),
       .builds_on = std::vector<std::size_t>{1, 6}},
      {.name = "rounds go on without workers that have finished or are lost",
       .run = in_turn(late_to_a_round, uneven(0), lost({0})),
       .builds_on = std::vector<std::size_t>{1, 6}},
      {.name = "NaN, infinity and zeros are pushed like any other number",
       .run = in_turn(odd_pushes(unbounded), odd_pushes(0)),
       .builds_on = std::vector<std::size_t>{1, 2, 6}},
  };
}

}  // namespace lockstep::grader::parameter_server
