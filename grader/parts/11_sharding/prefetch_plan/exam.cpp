// The exam of prefetch_plan: lists that the judge carries out on paper, with costs that it draws.
// Any list is right that can be carried out, keeps to its room, and waits for the network no longer
// than it must.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>

#include "grader/exam/function/exam.hpp"
#include "grader/parts/11_sharding/prefetch_plan/carried_out.hpp"

namespace lockstep::grader::prefetch_plan {
namespace {

// One at a time, so that each has a check of its own. All ask for a list that can be carried out.
enum class Aspect : unsigned char { order, room, time };

std::string short_number(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.4g", value);
  return out.data();
}

std::string text_of_question(const Question& q) {
  return text(q.direction == Direction::forward ? "forward" : "backward", " over ",
              counted(q.units, "unit"), " with room for ", q.limit);
}

// "… wait 1, run 1, [free 2], gather 3 …", cut around one place.
std::string marked(const Actions& plan, std::size_t place) {
  constexpr std::size_t around = 6;
  const std::size_t from = place > around ? place - around : 0;
  const std::size_t to = std::min(plan.size(), place + around + 1);
  std::string list = from > 0 ? "… " : "";
  for (std::size_t i = from; i < to; ++i) {
    const std::string action = text_of(plan[i]);
    list += text(i > from ? ", " : "", i == place ? "[" + action + "]" : action);
  }
  if (place >= plan.size()) list += plan.empty() ? "no action" : " [end]";
  return list + (to < plan.size() ? " …" : "");
}

std::optional<Failure> too_many(const Question& q, const Actions& plan) {
  const Alive alive = most_alive(q, plan);
  if (alive.most <= q.limit) return std::nullopt;
  const auto first_run = std::ranges::find(plan, Act::run, &Action::act);
  const bool all_first = q.units > 2 && q.limit < q.units - 1 &&
                         std::count_if(plan.begin(), first_run, [](const Action& action) {
                           return action.act == Act::gather;
                         }) >= q.units - 1;
  const bool kept = q.direction == Direction::backward && alive.most == q.limit + 1 &&
                    std::cmp_less(alive.place, first_run - plan.begin());
  const Cause cause =
      all_first ? Cause{"all_gathered_first",
                        "all units are gathered before the first one runs, so that the whole model "
                        "is there; gather the next one when another has been freed"}
      : kept    ? Cause{"kept_unit_not_counted",
                     "the last unit is there when backward begins, and takes one of the places, "
                        "also of a limit of 1"}
                : Cause{"gathers_before_it_frees",
                     "free the unit whose pass is over before you gather the next one, or gather "
                        "one less ahead"};
  return because(cause, {.verdict = Verdict::memory,
                         .message = text(alive.most,
                                         " units are alive at a time, but there is "
                                         "room for ",
                                         q.limit),
                         .expected = text("at most ", q.limit),
                         .seen = marked(plan, alive.place)});
}

// Each gather is waited for before anything else is done.
bool waits_at_once(const Actions& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].act != Act::gather) continue;
    if (i + 1 == plan.size() || plan[i + 1] != Action{Act::wait, plan[i].unit}) return false;
  }
  return true;
}

// A wait for another unit than the one that runs next.
std::optional<Action> early_wait(const Actions& plan) {
  for (auto wait = plan.begin(); wait != plan.end(); ++wait) {
    if (wait->act != Act::wait) continue;
    const auto run =
        std::find_if(wait, plan.end(), [](const Action& action) { return action.act == Act::run; });
    if (run != plan.end() && run->unit != wait->unit) return *wait;
  }
  return std::nullopt;
}

// Why a list takes too long in which the pass `turn` begins later than it could.
Cause cause_of_waiting(const Question& q, const Actions& plan, std::size_t turn) {
  if (q.limit > 1 && waits_at_once(plan)) {
    return {"no_prefetch",
            "every gather is waited for at once, so nothing runs meanwhile; gather units ahead, as "
            "many as there is room for"};
  }
  if (const auto wait = early_wait(plan)) {
    return {"waited_early", text("unit ", wait->unit,
                                 " is waited for while another unit could run; "
                                 "wait for a unit right before it runs")};
  }
  const int most = most_alive(q, plan).most, room = std::min(q.limit, q.units);
  if (most < room) {
    return {"too_few_ahead", text("no more than ", counted(most, "unit"), " are ever there, with ",
                                  "room for ", q.limit, "; gather further ahead")};
  }
  return {"gathered_late", text("unit ", turns(q)[turn],
                                " is gathered later than it could be: a unit is "
                                "freed right behind its pass, and then there is "
                                "room for the next gather")};
}

std::optional<Failure> too_slow(const Question& q, const Actions& plan) {
  const Carried seen = carry_out(q, plan), best = carry_out(q, as_early_as_possible(q));
  // Sums of up to a few hundred costs.
  if (seen.seconds <= best.seconds * (1 + 1e-9)) return std::nullopt;
  std::size_t turn = 0;
  while (turn + 1 < seen.began_s.size() && seen.began_s[turn] <= best.began_s[turn] * (1 + 1e-9)) {
    ++turn;
  }
  Failure failure{
      .verdict = Verdict::efficiency,
      .message = text("the pass takes ", short_number(seen.seconds), ", of which units run ",
                      short_number(seen.computed_s), ", but ", short_number(best.seconds),
                      " is enough: ", text_of(plan[seen.places[turn]]), " begins at ",
                      short_number(seen.began_s[turn]), " and could at ",
                      short_number(best.began_s[turn])),
      .expected = text("at most ", short_number(best.seconds)),
      .seen = marked(plan, seen.places[turn]),
      .counters = {{"seconds", seen.seconds}, {"seconds_enough", best.seconds}}};
  return because(cause_of_waiting(q, plan, turn), std::move(failure));
}

std::optional<Failure> wrong(Aspect aspect, const Question& q, const Actions& plan) {
  if (const auto flaw = flaw_of(q, plan)) {
    return because(flaw->cause, {.message = flaw->sentence, .seen = marked(plan, flaw->place)});
  }
  if (const auto again = gathered_again(plan)) {
    return because(
        {"gathered_again",
         "it was freed before its pass, or behind it although nothing needs it again"},
        {.verdict = Verdict::efficiency,
         .message = text("unit ", plan[*again].unit, " is gathered a second time in one pass"),
         .seen = marked(plan, *again)});
  }
  if (aspect == Aspect::room) return too_many(q, plan);
  if (aspect == Aspect::time) return too_slow(q, plan);
  return std::nullopt;
}

bool valid(const Question& q) { return q.units >= 1 && q.limit >= 1; }

std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  const auto offer = [&](int units, int limit) {
    Question& less = offered.emplace_back(q);
    less.units = units;
    less.limit = limit;
    for (auto* costs : {&less.gather_s, &less.run_s, &less.reduce_s}) {
      costs->resize(std::min(costs->size(), static_cast<std::size_t>(units)));
    }
  };
  if (q.units > 3) offer(q.units / 2, q.limit);
  if (q.limit > 3) offer(q.units, q.limit / 2);
  if (q.units > 1) offer(q.units - 1, q.limit);
  if (q.limit > 1) offer(q.units, q.limit - 1);
  return offered;
}

FunctionContract<Question, Actions> contract_of(Aspect aspect) {
  return {.text_of = [](const Question& q) { return text_of_question(q); },
          .wrong = [=](std::span<const Question> asked,
                       const Actions& seen) { return wrong(aspect, asked.back(), seen); },
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "a model has a unit, and the unit that runs needs a place"},
                        .nonsense = {{Direction::forward, 0, 2},
                                     {Direction::backward, 0, 2},
                                     {Direction::forward, 3, 0},
                                     {Direction::backward, 3, 0},
                                     {Direction::forward, -1, 1},
                                     {Direction::backward, 4, -1},
                                     {Direction::backward, INT_MIN, 1},
                                     {Direction::forward, 3, INT_MIN}}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {q.units, {q.limit}};
          },
          .least_count = 1,
          .situations =
              [=](const Question& q) {
                std::vector<Situation> asked;
                if (aspect == Aspect::order) return asked;
                if (q.units == 13) asked.push_back(Situation::cost_at_13_ranks);
                if (q.units == 1 || q.limit == 1) {
                  asked.push_back(Situation::price_at_the_extremes);
                }
                return asked;
              }};
}

// Each number of units, with room for one, a few, nearly all, all and more. The first one is large
// enough to show what kind of mistake it is, and small enough to be read.
std::vector<Question> every_pass(Direction direction) {
  std::vector<Question> questions{{direction, 5, 2}};
  for (const int units : every_rank_count) {
    for (const int limit : {2, 1, 3, 5, 7, units - 1, units, units + 1, INT_MAX}) {
      const bool is_new = std::ranges::none_of(questions, [&](const Question& other) {
        return other.units == units && other.limit == limit;
      });
      if (limit >= 1 && is_new && (units <= 17 || limit <= 3 || limit == units)) {
        questions.push_back({direction, units, limit});
      }
    }
  }
  return questions;
}
std::vector<Question> every_pass() {
  std::vector<Question> questions = every_pass(Direction::forward);
  for (Question& q : every_pass(Direction::backward)) questions.push_back(std::move(q));
  return questions;
}

// How long gathers and passes take, by the turn of a unit.
enum class Costs : unsigned char {
  alike,        // the network is as quick as the passes
  quick,        // the network is quicker
  slow,         // and slower
  heavy_later,  // what runs in the second half takes long to gather: far ahead is early enough
};

void draw_costs(CaseRunner& runner, Costs costs, Question& q) {
  const auto count = static_cast<std::size_t>(q.units);
  q.gather_s.resize(count), q.run_s.resize(count), q.reduce_s.resize(count);
  const std::vector<int> order = turns(q);
  for (std::size_t turn = 0; turn < count; ++turn) {
    const auto drawn = [&] { return static_cast<double>(runner.draw_between(20, 200)) / 100; };
    const bool later = turn >= count / 2;
    const double network = costs == Costs::quick                   ? 0.25
                           : costs == Costs::slow                  ? 3
                           : costs == Costs::heavy_later && !later ? 0.05
                                                                   : 1;
    const auto unit = static_cast<std::size_t>(order[turn]);
    q.gather_s[unit] = drawn() * network;
    q.run_s[unit] = drawn() * (costs == Costs::heavy_later && later ? 0.05 : 1);
    q.reduce_s[unit] = drawn() * (costs == Costs::heavy_later ? 0.05 : network);
  }
}

// Every pass once, with costs of these kinds in turn. The player sees the same question whatever it
// costs, so a pass is not asked for twice in one case.
std::vector<Question> priced_passes(CaseRunner& runner, const std::vector<Costs>& kinds) {
  std::vector<Question> questions = every_pass();
  for (std::size_t k = 0; k < questions.size(); ++k) {
    draw_costs(runner, kinds[k % kinds.size()], questions[k]);
  }
  return questions;
}

Check check_of_order(Direction direction, const std::string& name) {
  return {name, [=](CaseRunner& runner) {
            judge(runner, contract_of(Aspect::order), "1 to 300 units", every_pass(direction));
          }};
}

}  // namespace

Exam exam() {
  return {
      {"a forward and a backward pass over three units, with room for two, can be carried out",
       [](CaseRunner& runner) {
         ask(runner, contract_of(Aspect::order), "three units",
             {{Direction::forward, 3, 2}, {Direction::backward, 3, 2}});
       }},
      check_of_order(Direction::forward,
                     "forward runs each unit in turn when it is there, and keeps the last one"),
      check_of_order(Direction::backward,
                     "backward begins with the unit that was kept, and leaves none"),
      {"no more units are alive than there is room for",
       [](CaseRunner& runner) {
         judge(runner, contract_of(Aspect::room), "1 to 300 units", every_pass());
       }},
      {"no pass takes longer than with each unit gathered as early as there is room",
       [](CaseRunner& runner) {
         using enum Costs;
         const auto contract = contract_of(Aspect::time);
         judge(runner, contract, "drawn costs", priced_passes(runner, {alike, quick, slow}));
         judge(runner, contract, "units that are heavy later",
               priced_passes(runner, {heavy_later}));
       }},
      check_of_refusals(contract_of(Aspect::order), "no unit, and room for none, are refused",
                        {{Direction::forward, 1, 1}, {Direction::backward, 2, 1}}),
  };
}

}  // namespace lockstep::grader::prefetch_plan
