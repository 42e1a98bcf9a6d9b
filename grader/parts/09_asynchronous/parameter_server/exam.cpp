// The exam of parameter_server. The judge is all workers of a server, so it decides in virtual time
// when each asks for what, and knows which parameters every answer has to hold. A server's own work
// takes no time: whatever a worker waits, it waits for another worker. For work(), the judge is the
// servers and the model.
#include <algorithm>

#include "engine/base/units.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/09_asynchronous/parameter_server/services.hpp"

namespace lockstep::grader::parameter_server {
namespace {

using async_sgd::unbounded;

constexpr std::int64_t requests_max = 4'000;  // ten times what the longest case needs

std::string text_of(const Script& script) {
  const std::size_t workers = script.workers.size();
  return text(workers, workers == 1 ? " worker, " : " workers, ", script.count,
              script.count == 1 ? " element, " : " elements, ",
              script.staleness == unbounded ? std::string("no bound")
                                            : text("a bound of ", script.staleness));
}

enum class Time : std::uint8_t { any, prompt };

// An answer that comes later than its pull waited for what another worker did.
void check_prompt(CaseRunner& runner, const Played& played, const WorkersService& service) {
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

struct Served {
  Played played;
  Values at_the_end;  // the parameters
};

// Plays it; nothing when the case is not asked for.
std::optional<Served> serve(CaseRunner& runner, const Script& script, Time time = Time::any) {
  WorkersService service(script);
  const auto played = play_served(runner, text_of(script), std::vector{script.of_server()},
                                  {&service}, requests_max, script.asked());
  if (!played) return std::nullopt;
  if (service.failure()) runner.fail(*played, *service.failure());
  if (!service.returned()) {
    runner.fail(*played, {.cause = "no_request",
                          .message = "the server ended without a request of its workers",
                          .expected = "requests until all workers have left",
                          .seen = "none"});
  }
  if (time == Time::prompt) check_prompt(runner, *played, service);
  return Served{*played, service.at_the_end()};
}

// Workers of different speeds, with equally many steps.
Script script_of(CaseRunner& runner, int workers, std::int64_t staleness, int steps) {
  Script script{.staleness = staleness, .count = 1 + static_cast<std::int64_t>(runner.draw() % 7)};
  for (int w = 0; w < workers; ++w) {
    Worker& worker = script.workers.emplace_back();
    worker.step_s = 1e-3 * static_cast<double>(runner.draw_between(10, 40));
    worker.starts_s = 1e-4 * static_cast<double>(runner.draw_between(0, 9));
    worker.steps = steps;
    worker.pulls_at_end = w % 2 == 0;
  }
  script.salt = runner.draw();
  return script;
}

void one_worker(CaseRunner& runner) {
  for (const std::int64_t count : {5, 1, 7}) {
    Script script = script_of(runner, 1, unbounded, static_cast<int>(count));
    script.count = count;
    serve(runner, script);
    script.asks = {Situation::same_call_twice};
    serve(runner, script);
  }
}

// A push of values that are not finite, or of nothing but zeros, is one like any other.
void odd_pushes(CaseRunner& runner) {
  for (const Gradients gradients : {Gradients::odd, Gradients::zeros}) {
    for (const std::int64_t bound : {unbounded, std::int64_t{0}}) {
      Script script = script_of(runner, 3, bound, 4);
      script.gradients = gradients;
      script.count = 3;
      serve(runner, script);
    }
  }
}

void at_once(CaseRunner& runner) {
  for (const int workers : {2, 3, 4, 5, 7, 8, 13}) {
    for (const std::int64_t bound : {unbounded, std::int64_t{1}, std::int64_t{3}}) {
      serve(runner, script_of(runner, workers, bound, workers < 8 ? 5 : 3));
    }
  }
  serve(runner, script_of(runner, 70, unbounded, 1));
}

void slow_worker(CaseRunner& runner) {
  for (const int workers : {2, 4, 6}) {
    for (const int slow : {0, workers - 1}) {
      Script script = script_of(runner, workers, unbounded, 8);
      for (Worker& worker : script.workers) worker.step_s = 0.01;
      Worker& slowest = script.workers[static_cast<std::size_t>(slow)];
      slowest.step_s *= 4;
      slowest.steps = 2;
      serve(runner, script, Time::prompt);
    }
  }
}

// Some finish long before the others; one has nothing to do at all but to pull.
Script uneven(CaseRunner& runner, int workers, std::int64_t bound) {
  Script script = script_of(runner, workers, bound, 0);
  for (int w = 0; w < workers; ++w) {
    script.workers[static_cast<std::size_t>(w)].steps =
        static_cast<int>(1 + (runner.draw() + static_cast<std::uint64_t>(3 * w)) % 7);
  }
  script.workers[runner.draw() % script.workers.size()].steps = 0;
  return script;
}

void finished(CaseRunner& runner) {
  for (const int workers : {2, 3, 5, 8}) {
    for (const std::int64_t bound : {unbounded, std::int64_t{2}}) {
      serve(runner, uneven(runner, workers, bound));
    }
  }
}

// One or two die in this way, after one or two pushes, and the others go on.
Script with_dead(CaseRunner& runner, int workers, std::int64_t bound, Death death, int dead) {
  Script script = script_of(runner, workers, bound, 5);
  const std::uint64_t first = runner.draw();
  for (int k = 0; k < dead; ++k) {
    Worker& worker =
        script.workers[(first + static_cast<std::uint64_t>(k)) % script.workers.size()];
    worker.dies = death;
    worker.steps = death == Death::unborn ? 0 : 1 + k;
    // In a round it is not the last to push, so that it dies while the others are waited for.
    if (death == Death::pushed) worker.step_s = 2e-3;
  }
  return script;
}

void lost(CaseRunner& runner, const std::vector<std::int64_t>& bounds) {
  for (const Death death : {Death::computing, Death::pushed, Death::unborn}) {
    for (const std::int64_t bound : bounds) {
      serve(runner, with_dead(runner, 3, bound, death, 1));
      serve(runner, with_dead(runner, 5, bound, death, 2));
    }
  }
  serve(runner, with_dead(runner, 4, bounds.front(), Death::pushed, 4));  // all of them
  serve(runner, with_dead(runner, 1, bounds.front(), Death::unborn, 1));
}

void rounds(CaseRunner& runner) {
  for (const int workers : {1, 2, 3, 4, 5, 7, 8, 13, 70}) {
    serve(runner, script_of(runner, workers, 0, workers < 8 ? 4 : 2));
  }
}

// The same pushes, the first worker first, the last worker first, and in any order.
void any_arrival(CaseRunner& runner) {
  for (const int workers : {3, 5, 8, 13}) {
    Script script = script_of(runner, workers, 0, 3);
    script.count = 40;
    std::optional<Values> before;
    for (const int order : {0, 1, 2}) {
      for (int w = 0; w < workers; ++w) {
        const int place = order == 0 ? w : order == 1 ? workers - w : w * 5 % workers;
        Worker& worker = script.workers[static_cast<std::size_t>(w)];
        worker.step_s = 0.01 + 0.002 * place;
      }
      const auto served = serve(runner, script);
      if (!served) continue;
      if (before && served->at_the_end != *before) {
        runner.fail(served->played,
                    because({"order_of_arrival",
                             "pushes were added in the order in which they came; add them in the "
                             "order of workers"},
                            {.message = "the same pushes gave other bits when they came in another "
                                        "order",
                             .expected = "the same parameters, bit for bit",
                             .seen = "others"}));
      }
      before = served->at_the_end;
    }
  }
  Script telling = script_of(runner, 3, 0, 1);
  telling.gradients = Gradients::telling;
  telling.count = 4;
  serve(runner, telling);
}

// A worker that comes late: its first pull finds a round in which the others have pushed. With
// nothing to do it only leaves, and that completes the round, the last one of all.
void late_to_a_round(CaseRunner& runner) {
  for (const int steps : {2, 0}) {
    for (const Death death : {Death::none, Death::unborn}) {
      Script script = script_of(runner, 3, 0, 2);
      for (Worker& worker : script.workers) worker.pulls_at_end = false;
      Worker& late = script.workers[1];
      late.starts_s = 0.5;
      late.steps = death == Death::unborn ? 0 : steps;
      late.dies = death;
      if (late.steps == 0) script.workers[0].steps = script.workers[2].steps = 1;
      serve(runner, script);
    }
  }
}

void uneven_rounds(CaseRunner& runner) {
  late_to_a_round(runner);
  for (const int workers : {2, 3, 5, 8}) serve(runner, uneven(runner, workers, 0));
  lost(runner, {0});
}

void worker_loop(CaseRunner& runner) {
  for (const int steps : {1, 3, 8, 0}) {
    for (const std::int64_t count : {5, 1}) {
      const std::uint64_t salt = runner.draw();
      ServersService service(salt, count, steps, 0.01);
      const Values nothing(static_cast<std::size_t>(count));
      const LoopsCase c{.form = LoopForm::works, .parameters = nothing, .steps = steps};
      const auto played = play_served(
          runner, text("work() with ", counted(steps, "step"), ", ", counted(count, "element")),
          std::vector{c}, {&service}, requests_max);
      if (!played) continue;
      if (service.failure()) runner.fail(*played, *service.failure());
      if (!service.returned()) {
        runner.fail(*played, {.cause = "no_request",
                              .message = "the worker ended without a word to its servers",
                              .expected = counted(steps, "step"),
                              .seen = "none"});
      }
      if (service.pulls() <= steps) continue;
      runner.fail(*played, because({"pulls_too_often", "one pull a step is enough"},
                                   {.verdict = Verdict::efficiency,
                                    .message = text("in ", counted(steps, "step"),
                                                    " the parameters were pulled ",
                                                    counted(service.pulls(), "time"),
                                                    ", and each pull brings all of them"),
                                    .expected = counted(steps, "pull"),
                                    .seen = counted(service.pulls(), "pull")}));
    }
  }
}

}  // namespace

Exam exam() {
  return {
      {.name = "in each step a worker pulls, computes at what it has pulled, and pushes that",
       .run = worker_loop,
       .begins = Step{"the worker's loop", 20}},
      {.name = "with one worker, each push is an update before the next pull is answered",
       .run = one_worker,
       .builds_on = std::vector<std::size_t>{},
       .begins = Step{"a server that updates at once", 40}},
      {.name =
           "each of several workers' pushes is an update, times 1/workers, and answers are whole",
       .run = at_once,
       .builds_on = std::vector<std::size_t>{1}},
      {.name = "a worker that is four times slower changes nobody else's step",
       .run = slow_worker,
       .builds_on = std::vector<std::size_t>{1, 2},
       .asks = Asks::cost},
      {.name = "the server ends when the last worker has finished, whoever finished before",
       .run = finished,
       .builds_on = std::vector<std::size_t>{1, 2}},
      {.name = "a lost worker is left out, its pushes count, and the others go on",
       .run =
           [](CaseRunner& runner) {
             lost(runner, {unbounded, 1});
           },
       .builds_on = std::vector<std::size_t>{1, 2}},
      {.name = "with a staleness of 0, a round is one update with the mean of its pushes",
       .run = rounds,
       .builds_on = std::vector<std::size_t>{1},
       .begins = Step{"rounds", 40}},
      {.name = "a round's pushes are multiplied, and then added in the order of workers, whoever "
               "came first",
       .run = any_arrival,
       .builds_on = std::vector<std::size_t>{1, 6}},
      {.name = "rounds go on without workers that have finished or are lost",
       .run = uneven_rounds,
       .builds_on = std::vector<std::size_t>{1, 6}},
      {.name = "NaN, infinity and zeros are pushed like any other number",
       .run = odd_pushes,
       .builds_on = std::vector<std::size_t>{1, 2, 6}},
  };
}

}  // namespace lockstep::grader::parameter_server
