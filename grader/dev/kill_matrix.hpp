// The kill matrix: which check rejects which mutant, when every check is run on every mutant. A
// proof sees it. A proof that held is remembered with its matrix (proof_memory.hpp), as text that
// is read back here; no matrix is kept in the tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

struct MutantRow {
  std::string name;            // "tail_lost"
  std::string verdict, cause;  // what a student with this answer would read
  std::vector<bool> fails;     // by check, in the order of the exam

  bool operator==(const MutantRow&) const = default;
};

struct ExerciseKills {
  std::string handle;               // "ring_all_reduce", "06_all_reduce/quiz"
  std::vector<std::string> checks;  // sentences; a quiz's questions
  std::vector<MutantRow> mutants;
  std::vector<std::string> alternatives;  // names of those that passed
  // For each check, true if it fails the part that returns at once; empty if that does not compile.
  std::vector<bool> fails_nothing_done;

  int kills_of(std::size_t check) const;
  int first_kills_of(std::size_t check) const;  // of mutants that all checks before it let pass

  bool operator==(const ExerciseKills&) const = default;
};

// The matrix of one exercise as a page.
std::string kills_text(const ExerciseKills& kills);

//   Throws  UsageError naming the line that is not as kills_text writes it
ExerciseKills read_kills(std::string_view page);

struct KillTotals {
  int exercises = 0, checks = 0, mutants = 0, alternatives = 0;
  int killed = 0;            // mutants that some check rejects
  int checks_with_kill = 0;  // checks that reject some mutant
  int checks_first = 0;      // checks without which some mutant would come further
};
KillTotals totals_of(const std::vector<ExerciseKills>& all);

// The one sentence that the page opens with.
std::string sentence_of(const KillTotals& totals);

// The page for readers, in the order given.
//   unproved  exercises whose matrix is not known
std::string kill_page(const std::vector<ExerciseKills>& all,
                      const std::vector<std::string>& unproved);

}  // namespace lockstep::grader
