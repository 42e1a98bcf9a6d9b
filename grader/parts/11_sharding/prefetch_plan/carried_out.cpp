#include "grader/parts/11_sharding/prefetch_plan/carried_out.hpp"

#include <algorithm>
#include <set>

#include "engine/base/text.hpp"

namespace lockstep::grader::prefetch_plan {
namespace {

bool is_backward(const Question& q) { return q.direction == Direction::backward; }

// The state of all units while a plan is walked through.
struct Walk {
  const Question& q;
  std::vector<int> order = turns(q);
  std::set<int> gathered{}, waited{};
  std::set<int> ran{}, freed{};
  std::size_t next = 0;  // of the order, to be gathered

  explicit Walk(const Question& question) : q(question) {
    if (is_backward(q)) gathered = waited = {q.units - 1}, next = 1;
  }

  std::optional<PlanFlaw> take(std::size_t place, const Action& action) {
    const int unit = action.unit;
    const auto flaw = [&](const std::string& what, const Cause& cause) {
      return PlanFlaw{place, text(text_of(action), what), cause};
    };
    if (unit < 0 || unit >= q.units || action.act > Act::free) {
      return flaw(text(", but there are units 0 to ", q.units - 1,
                       " to be gathered, waited for, run and freed"),
                  {"no_such_action",
                   unit < -1 ? "unit + limit does not fit an int, where the limit is large"
                             : "units count from 0, and reductions are not part of this list"});
    }
    switch (action.act) {
      case Act::gather:
        if (gathered.insert(unit).second) return take_turn(place, action);
        return flaw(", but this unit is there, or on its way",
                    unit == q.units - 1 && is_backward(q) && !ran.contains(unit)
                        ? Cause{"gathers_the_kept_unit",
                                "the last unit was kept from its forward pass; its backward pass "
                                "comes first"}
                        : Cause{"gathered_twice", "a unit is gathered once, until it is freed"});
      case Act::wait:
        waited.insert(unit);
        if (gathered.contains(unit)) return std::nullopt;
        return flaw(", but nothing has gathered this unit, so that this wait never ends",
                    {"wait_without_gather", freed.contains(unit)
                                                ? "it was gathered and freed before; free a unit "
                                                  "when its pass is over, not the one that is next"
                                                : "each wait needs a gather before it"});
      case Act::run:
        return take_run(place, action);
      default:
        return take_free(place, action);
    }
  }

  // A unit that was freed before is left to gathered_again.
  std::optional<PlanFlaw> take_turn(std::size_t place, const Action& action) {
    if (freed.contains(action.unit)) return std::nullopt;
    const int turn = order[next++];
    if (action.unit == turn) return std::nullopt;
    return PlanFlaw{place,
                    text(text_of(action), ", but unit ", turn, " runs first"),
                    {"gathered_out_of_turn",
                     "one queue carries out all gathers in their order, so units are gathered in "
                     "the order in which they run"}};
  }

  std::optional<PlanFlaw> take_run(std::size_t place, const Action& action) {
    const int unit = action.unit;
    const auto flaw = [&](const std::string& what, const Cause& cause) {
      return PlanFlaw{place, text(text_of(action), what), cause};
    };
    if (!gathered.contains(unit)) {
      return flaw(", but its parameters are not there",
                  {freed.contains(unit) ? "freed_before_use" : "not_gathered",
                   freed.contains(unit) ? "this unit was gathered ahead and freed before it ran; "
                                          "free the unit whose pass is over"
                                        : "gather a unit, and wait for it, before it runs"});
    }
    if (!waited.contains(unit)) {
      return flaw(
          ", but nobody has waited until its parameters are there",
          {"not_waited", "a gather only starts; what it brings can be used behind the wait"});
    }
    if (!ran.insert(unit).second) {
      return flaw(", a second time", {"run_twice", "each unit runs once in a pass"});
    }
    const int turn = order[ran.size() - 1];
    if (unit == turn) return std::nullopt;
    return flaw(text(", but unit ", turn, " comes first"),
                {"other_turn", is_backward(q) ? "backward goes from the last unit to the first"
                                              : "forward goes from the first unit to the last"});
  }

  std::optional<PlanFlaw> take_free(std::size_t place, const Action& action) {
    const int unit = action.unit;
    const auto flaw = [&](const std::string& what, const Cause& cause) {
      return PlanFlaw{place, text(text_of(action), what), cause};
    };
    if (!gathered.contains(unit)) {
      return flaw(", but this unit is not there",
                  {"freed_twice", "free a unit once, behind its pass"});
    }
    if (!waited.contains(unit)) {
      return flaw(", while its gather may still write there",
                  {"freed_in_flight", "wait for a gather before its memory is given back"});
    }
    if (!is_backward(q) && unit == q.units - 1 && ran.contains(unit)) {
      return flaw(", but its backward pass comes next",
                  {"frees_the_kept_unit",
                   "the last unit stays between its two passes, or it would have to be gathered "
                   "again at once"});
    }
    gathered.erase(unit);
    waited.erase(unit);
    freed.insert(unit);
    return std::nullopt;
  }

  std::optional<PlanFlaw> end(std::size_t place) const {
    for (const int unit : order) {
      if (ran.contains(unit)) continue;
      return PlanFlaw{place,
                      text("the list ends before unit ", unit, " has run"),
                      {"missing", "each unit runs in each pass; a loop ends too early"}};
    }
    for (const int unit : gathered) {
      if (!is_backward(q) && unit == q.units - 1) continue;
      return PlanFlaw{place,
                      text("unit ", unit, " is never freed"),
                      {"never_freed",
                       "its parameters would stay until the next step; free each "
                       "unit behind its pass"}};
    }
    return std::nullopt;
  }
};

}  // namespace

std::vector<int> turns(const Question& q) {
  std::vector<int> order;
  for (int k = 0; k < q.units; ++k) order.push_back(is_backward(q) ? q.units - 1 - k : k);
  return order;
}

std::string text_of(const Action& action) {
  constexpr const char* words[] = {"gather", "wait", "run", "free", "reduce", "reduced"};
  const auto act = static_cast<std::size_t>(action.act);
  return text(act < std::size(words) ? words[act] : "?", " ", action.unit);
}

std::optional<PlanFlaw> flaw_of(const Question& q, const Actions& plan) {
  Walk walk(q);
  for (std::size_t place = 0; place < plan.size(); ++place) {
    if (auto flaw = walk.take(place, plan[place])) return flaw;
  }
  return walk.end(plan.size());
}

Alive most_alive(const Question& q, const Actions& plan) {
  int alive = is_backward(q) ? 1 : 0;
  Alive found{alive, 0};
  for (std::size_t place = 0; place < plan.size(); ++place) {
    if (plan[place].act == Act::free) --alive;
    if (plan[place].act == Act::gather && ++alive > found.most) found = {alive, place};
  }
  return found;
}

std::optional<std::size_t> gathered_again(const Actions& plan) {
  std::set<int> freed;
  for (std::size_t place = 0; place < plan.size(); ++place) {
    if (plan[place].act == Act::free) freed.insert(plan[place].unit);
    if (plan[place].act == Act::gather && freed.contains(plan[place].unit)) return place;
  }
  return std::nullopt;
}

Carried carry_out(const Question& q, const Actions& plan) {
  Carried carried;
  double now_s = 0, queue_s = 0;
  std::vector<double> there_s(static_cast<std::size_t>(q.units), 0);
  for (std::size_t place = 0; place < plan.size(); ++place) {
    const auto unit = static_cast<std::size_t>(plan[place].unit);
    if (plan[place].act == Act::gather) {
      queue_s = std::max(queue_s, now_s) + q.gather_s[unit];
      there_s[unit] = queue_s;
    }
    if (plan[place].act == Act::wait) now_s = std::max(now_s, there_s[unit]);
    if (plan[place].act != Act::run) continue;
    carried.began_s.push_back(now_s);
    carried.places.push_back(place);
    carried.computed_s += q.run_s[unit];
    now_s += q.run_s[unit];
    if (is_backward(q)) queue_s = std::max(queue_s, now_s) + q.reduce_s[unit];
  }
  carried.seconds = std::max(now_s, queue_s);
  return carried;
}

Actions as_early_as_possible(const Question& q) {
  const std::vector<int> order = turns(q);
  Actions plan;
  std::size_t next = is_backward(q) ? 1 : 0;  // of the order, to be gathered
  int alive = is_backward(q) ? 1 : 0;
  for (const int unit : order) {
    for (; alive < q.limit && next < order.size(); ++alive) {
      plan.push_back({Act::gather, order[next++]});
    }
    plan.insert(plan.end(), {{Act::wait, unit}, {Act::run, unit}});
    if (!is_backward(q) && unit == order.back()) continue;
    plan.push_back({Act::free, unit});
    --alive;
  }
  return plan;
}

}  // namespace lockstep::grader::prefetch_plan
