#include "grader/lab/par_text.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::string quantity_text(const ParCounter& counter, double value) {
  if (counter.name == "time") return lockstep::seconds_text(value);
  const std::string whole = grouped(static_cast<std::int64_t>(value));
  return counter.name == "bytes" ? whole + " bytes sent by the busiest rank" : whole;
}

// "time: 318 µs, 1.04 times the best known of 305 µs (case 12: 8 ranks, …)"
std::string beyond_par(const ParCounter& counter) {
  std::ostringstream ratio;
  ratio.precision(3);
  ratio << counter.ratio();
  return text(counter.name, ": ", quantity_text(counter, counter.seen), ", ", ratio.str(),
              " times the best known, ", quantity_text(counter, counter.best), " (", counter.where,
              ")\n");
}

}  // namespace

std::string par_text(const std::vector<ParCounter>& par, const Exercise& exercise) {
  const int stars = stars_of(par);
  if (stars == 0) return "";
  std::string out;
  for (int star = 1; star <= 3; ++star) out += star <= stars ? "★" : "☆";
  std::vector<std::string> best;
  std::string beyond;
  for (const ParCounter& counter : par) {
    if (at_par(counter)) {
      best.push_back(counter.name);
    } else {
      beyond += beyond_par(counter);
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) {
    out += text(i == 0 ? " " : i + 1 == best.size() ? " and " : ", ", best[i]);
  }
  if (!best.empty()) out += " as in the best known " + exercise.handle();
  if (beyond.empty()) return out;
  return text(out, "\n", beyond, "./lab compare ", exercise.handle(),
              " compares yours with the reference");
}

nlohmann::json par_json(const std::vector<ParCounter>& par) {
  if (par.empty()) return nullptr;
  auto counters = nlohmann::json::array();
  for (const ParCounter& counter : par) {
    counters.push_back({{"name", counter.name},
                        {"seen", counter.seen},
                        {"best", counter.best},
                        {"ratio", counter.ratio()},
                        {"where", counter.where}});
  }
  return {{"stars", stars_of(par)}, {"counters", counters}};
}

}  // namespace lockstep::grader
