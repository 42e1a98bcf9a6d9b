#include "grader/parts/09_asynchronous/bounded_staleness/readings.hpp"

#include <algorithm>
#include <cmath>

#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::bounded_staleness {
namespace {

using async_sgd::unbounded;

// A reading: true if it lets a worker start.
using Reading = bool (*)(const WorkerClocks&, std::size_t worker);

struct Misreading {
  Cause cause;
  Reading starts;
};

// The steps that `worker` is ahead of the slowest among itself and those for whom counts(w) holds.
std::int64_t lead_over(const WorkerClocks& at, std::size_t worker, const auto& counts) {
  std::int64_t slowest = at.clocks[worker];
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (counts(w)) slowest = std::min(slowest, at.clocks[w]);
  }
  return at.clocks[worker] - slowest;
}

std::int64_t fastest(const WorkerClocks& at) {
  std::int64_t most = 0;
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (!at.finished[w]) most = std::max(most, at.clocks[w]);
  }
  return most;
}

enum class Mean : std::uint8_t { exact, rounded_down };

bool within_of_mean(const WorkerClocks& at, std::size_t worker, Mean mean, const auto& counts) {
  double sum = 0, of = 0;
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (!counts(w)) continue;
    sum += static_cast<double>(at.clocks[w]);
    of += 1;
  }
  const double over = mean == Mean::exact ? sum / of : std::floor(sum / of);
  return static_cast<double>(at.clocks[worker]) - over <= static_cast<double>(at.bound);
}
template <Mean mean>
bool within_of_mean_of_active(const WorkerClocks& at, std::size_t worker) {
  return within_of_mean(at, worker, mean, [&](std::size_t w) { return !at.finished[w]; });
}
template <Mean mean>
bool within_of_mean_of_all(const WorkerClocks& at, std::size_t worker) {
  return within_of_mean(at, worker, mean, [](std::size_t) { return true; });
}

bool is_only_active(const WorkerClocks& at, std::size_t worker) {
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (w != worker && !at.finished[w]) return false;
  }
  return true;
}

bool all_within_both_ways(const WorkerClocks& at, std::size_t worker) {
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    const std::int64_t apart = at.clocks[w] - at.clocks[worker];
    if (!at.finished[w] && (apart > at.bound || -apart > at.bound)) return false;
  }
  return true;
}

bool is_neighbour(std::size_t w, std::size_t worker, std::size_t workers) {
  return (w + 1) % workers == worker || (worker + 1) % workers == w;
}

const std::vector<Misreading>& misreadings() {
  static const Cause mean{"against_the_mean",
                          "the lead is over the mean of the clocks; a worker can be far behind it. "
                          "Take the slowest active worker"};
  static const Cause narrow{"overflow",
                            "an int holds at most 2,147,483,647; keep clocks and bound in int64_t"};
  static const std::vector<Misreading> all{
      // If all bounds are 0, this is the same as no bound at all.
      {{"zero_is_no_bound",
        "a bound of 0 does not mean 'no bound'; it keeps the workers in step, and `unbounded` is "
        "the largest int64_t"},
       [](const WorkerClocks& at, std::size_t w) { return at.bound == 0 || should_start(at, w); }},
      // These differ from the rule only where numbers are large.
      {narrow,
       [](const WorkerClocks& at, std::size_t w) {
         WorkerClocks cut = at;
         for (std::int64_t& clock : cut.clocks) clock = in_32_bits(clock);
         return should_start(cut, w);
       }},
      {narrow, [](const WorkerClocks& at,
                  std::size_t w) { return in_32_bits(lead_of(at, w)) <= at.bound; }},
      {{"overflow", "an int holds at most 2,147,483,647, and `unbounded` is -1 in it"},
       [](const WorkerClocks& at, std::size_t w) {
         return lead_of(at, w) <= in_32_bits(at.bound);
       }},
      {{"sum_overflows",
        "a clock plus the bound is more than an int64_t holds when the bound is `unbounded`; "
        "compare the lead with the bound"},
       [](const WorkerClocks& at, std::size_t w) {
         const auto limit = static_cast<std::uint64_t>(at.clocks[slowest_of(at)]) +
                            static_cast<std::uint64_t>(at.bound);
         return at.clocks[w] <= static_cast<std::int64_t>(limit);
       }},
      {{"rounded",
        "a double holds 53 bits, so large clocks lose their last steps in it; keep them in "
        "int64_t"},
       [](const WorkerClocks& at, std::size_t w) {
         return static_cast<double>(at.clocks[w]) -
                    static_cast<double>(at.clocks[slowest_of(at)]) <=
                static_cast<double>(at.bound);
       }},
      {{"bound_ignored",
        "every worker may start, however far ahead it is; compare its lead with the bound"},
       [](const WorkerClocks&, std::size_t) { return true; }},
      {{"nobody_starts", "no worker may start; the slowest active one always may"},
       [](const WorkerClocks&, std::size_t) { return false; }},
      {{"free_after_one_finished",
        "once one worker has finished, the others start without a bound; it still holds among "
        "those that are active"},
       [](const WorkerClocks& at, std::size_t w) {
         return std::ranges::count(at.finished, 1) > 0 || should_start(at, w);
       }},
      {{"alone_waits", "the last active worker has nobody to wait for, so it may start"},
       [](const WorkerClocks& at, std::size_t w) {
         return !is_only_active(at, w) && should_start(at, w);
       }},
      {{"finished_counted",
        "a worker that has finished stays at its clock for ever, and the others wait for it; take "
        "the slowest of the active workers"},
       [](const WorkerClocks& at, std::size_t w) {
         return lead_over(at, w, [](std::size_t) { return true; }) <= at.bound;
       }},
      {{"one_step_less", "a worker that is exactly `bound` steps ahead may start: compare with <="},
       [](const WorkerClocks& at, std::size_t w) { return lead_of(at, w) < at.bound; }},
      {{"one_step_more",
        "a worker that is bound + 1 steps ahead waits; the clocks count finished steps, and the "
        "step that it asks for is not one of them"},
       [](const WorkerClocks& at, std::size_t w) { return lead_of(at, w) - 1 <= at.bound; }},
      {mean, within_of_mean_of_active<Mean::exact>},
      {mean, within_of_mean_of_active<Mean::rounded_down>},
      {mean, within_of_mean_of_all<Mean::exact>},
      {mean, within_of_mean_of_all<Mean::rounded_down>},
      {{"against_the_fastest",
        "workers that are far behind the fastest wait, and the fastest runs on; those that are far "
        "ahead of the slowest have to wait"},
       [](const WorkerClocks& at, std::size_t w) {
         return fastest(at) - at.clocks[w] <= at.bound;
       }},
      {{"both_ways",
        "a worker that is behind waits for those ahead of it; whoever is behind may start"},
       all_within_both_ways},
      {{"no_minimum",
        "the worker's own clock is compared with the bound; a minimum that begins at 0 stays 0"},
       [](const WorkerClocks& at, std::size_t w) { return at.clocks[w] <= at.bound; }},
      {{"only_neighbours",
        "only the workers before and after the asking one are looked at; all count"},
       [](const WorkerClocks& at, std::size_t worker) {
         return lead_over(at, worker, [&](std::size_t w) {
                  return !at.finished[w] && is_neighbour(w, worker, at.clocks.size());
                }) <= at.bound;
       }},
      {{"one_left_out", "the last worker is not looked at; all active workers count"},
       [](const WorkerClocks& at, std::size_t worker) {
         return lead_over(at, worker, [&](std::size_t w) {
                  return !at.finished[w] && w + 1 < at.clocks.size();
                }) <= at.bound;
       }},
      {{"one_left_out", "worker 0 is not looked at; all active workers count"},
       [](const WorkerClocks& at, std::size_t worker) {
         return lead_over(at, worker, [&](std::size_t w) { return !at.finished[w] && w > 0; }) <=
                at.bound;
       }},
      {{"only_worker_0", "only worker 0 is looked at; all active workers count"},
       [](const WorkerClocks& at, std::size_t worker) {
         return lead_over(at, worker, [&](std::size_t w) { return !at.finished[w] && w == 0; }) <=
                at.bound;
       }}};
  return all;
}

// Each call is judged by the slowest worker of the call before. What was there before the first
// one, nobody knows here.
bool is_one_call_late(std::span<const Call> calls) {
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const WorkerClocks& before = calls[i - 1].at;
    const Call& call = calls[i];
    const std::int64_t lead = call.at.clocks[call.worker] - before.clocks[slowest_of(before)];
    if ((lead <= call.at.bound) != call.starts) return false;
  }
  return calls.size() > 1;
}

// The smallest clock of all calls so far is kept.
bool keeps_the_smallest(std::span<const Call> calls) {
  std::int64_t least = unbounded;
  for (const Call& call : calls) {
    least = std::min(least, call.at.clocks[slowest_of(call.at)]);
    if ((call.at.clocks[call.worker] - least <= call.at.bound) != call.starts) return false;
  }
  return true;
}

}  // namespace

bool should_start(const WorkerClocks& at, std::size_t worker) {
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (!at.finished[w] && at.clocks[worker] - at.clocks[w] > at.bound) return false;
  }
  return true;
}

std::size_t slowest_of(const WorkerClocks& at) {
  std::size_t slowest = at.clocks.size();
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (at.finished[w]) continue;
    if (slowest == at.clocks.size() || at.clocks[w] < at.clocks[slowest]) slowest = w;
  }
  return slowest;
}

std::int64_t lead_of(const WorkerClocks& at, std::size_t worker) {
  return at.clocks[worker] - at.clocks[slowest_of(at)];
}

std::optional<Cause> misreading_of(std::span<const Call> calls) {
  for (const auto& [cause, starts] : misreadings()) {
    if (std::ranges::all_of(
            calls, [&](const Call& call) { return starts(call.at, call.worker) == call.starts; })) {
      return cause;
    }
  }
  if (is_one_call_late(calls) || keeps_the_smallest(calls)) {
    return Cause{"stale",
                 "the smallest clock of an earlier call is used; work it out anew in each call"};
  }
  return std::nullopt;
}

}  // namespace lockstep::grader::bounded_staleness
