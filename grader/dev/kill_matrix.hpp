// The kill matrix: which check rejects which mutant, when every check of values is run on every
// mutant, and every check of costs on those whose values are right. A proof sees it. A proof that
// held is remembered with its matrix (grader/memory), as text that is read back here; no matrix
// is kept in the tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

// A mark tells what a check says of a part. not_asked: it is one of costs, and the values are
// wrong; or a check before it ran out of time.
enum class Mark : unsigned char { holds, fails, not_asked };

struct MutantRow {
  std::string name;            // "tail_lost"
  std::string verdict, cause;  // what a student with this answer would read
  std::vector<Mark> marks;     // by check, in the order of the exam

  bool operator==(const MutantRow&) const = default;
};

// A situation of the exercise's battery (judge/situation.hpp).
struct SituationRow {
  std::string name;     // "not_a_number"
  int cases = 0;        // in which the reference was put into it
  std::string because;  // why the exam does not ask it, or nothing

  bool operator==(const SituationRow&) const = default;
};

// A sentence of the contract (course/proofs/contract_table.hpp).
struct SentenceRow {
  std::string address, words;
  std::vector<int> checks;  // that break when it is ignored, from 1
  std::string unchecked;    // why nothing can check it, or nothing

  bool operator==(const SentenceRow&) const = default;
};

struct ExerciseKills {
  std::string handle;               // "ring_all_reduce", "06_all_reduce/quiz"
  std::vector<std::string> checks;  // sentences; a quiz's questions
  std::vector<MutantRow> mutants;
  std::vector<std::string> alternatives;  // names of those that passed
  // The marks of the part that returns at once; there are none if that does not compile.
  std::vector<Mark> nothing_done;
  // A quiz has neither.
  std::vector<SituationRow> situations{};
  std::vector<SentenceRow> sentences{};

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
  int killed = 0;                    // mutants that some check rejects
  int checks_with_kill = 0;          // checks that reject some mutant
  int checks_first = 0;              // checks without which some mutant would come further
  int asked = 0, excepted = 0;       // situations, of all exercises
  int sentences = 0, unchecked = 0;  // all, and those among them that nothing can check
};
KillTotals totals_of(const std::vector<ExerciseKills>& all);

// The one sentence that the page opens with.
std::string sentence_of(const KillTotals& totals);

// The page for readers, in the order given.
//   unproved  exercises whose matrix is not known
std::string kill_page(const std::vector<ExerciseKills>& all,
                      const std::vector<std::string>& unproved);

}  // namespace lockstep::grader
