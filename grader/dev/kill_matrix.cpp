#include "grader/dev/kill_matrix.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::grader {

int ExerciseKills::kills_of(std::size_t check) const {
  return static_cast<int>(std::count_if(mutants.begin(), mutants.end(), [&](const MutantRow& m) {
    return m.marks[check] == Mark::fails;
  }));
}

int ExerciseKills::first_kills_of(std::size_t check) const {
  const auto at = static_cast<std::ptrdiff_t>(check);
  return static_cast<int>(std::ranges::count_if(mutants, [&](const MutantRow& m) {
    return std::ranges::find(m.marks, Mark::fails) - m.marks.begin() == at;
  }));
}

KillTotals totals_of(const std::vector<ExerciseKills>& all) {
  KillTotals t;
  t.exercises = static_cast<int>(all.size());
  for (const ExerciseKills& kills : all) {
    t.checks += static_cast<int>(kills.checks.size());
    t.mutants += static_cast<int>(kills.mutants.size());
    t.alternatives += static_cast<int>(kills.alternatives.size());
    for (std::size_t c = 0; c < kills.checks.size(); ++c) {
      t.checks_with_kill += kills.kills_of(c) > 0;
      t.checks_first += kills.first_kills_of(c) > 0;
    }
    for (const SituationRow& s : kills.situations) ++(s.because.empty() ? t.asked : t.excepted);
    for (const SentenceRow& s : kills.sentences) t.unchecked += s.unchecked.empty() ? 0 : 1;
    t.sentences += static_cast<int>(kills.sentences.size());
    for (const MutantRow& m : kills.mutants) {
      t.killed += std::ranges::find(m.marks, Mark::fails) != m.marks.end();
    }
  }
  return t;
}

std::string sentence_of(const KillTotals& t) {
  const std::string checks = t.checks_with_kill == t.checks
                                 ? "every check kills at least one"
                                 : text(t.checks_with_kill, " checks kill at least one");
  const std::string mutants =
      t.killed == t.mutants ? "all are rejected" : text(t.killed, " are rejected");
  return text(t.exercises, " exercises, ", t.checks, " checks, ", t.mutants,
              " wrong answers: ", mutants, ", ", checks, "; all ", t.alternatives,
              " other right answers pass.");
}

}  // namespace lockstep::grader
