#include "grader/lab/proof.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/course/mutants.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/grade.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using sim::Verdict;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string with_throws_replaced(std::string stub, const std::string& instead) {
  for (std::size_t at; (at = stub.find("throw NotImplemented(")) != std::string::npos;) {
    stub.replace(at, stub.find(';', at) + 1 - at, instead);
  }
  return stub;
}

class Prover {
 public:
  Prover(const Lab& lab, const Exercise& exercise) : lab_(lab), exercise_(exercise) {
    scratch_ = lab.places.build / "proof" / exercise.address();
    options_.limits = lab.limits;
  }

  Proof prove() {
    expect("the stub", lab_.places.stub(exercise_), Verdict::unsolved, "");
    expect("the reference", lab_.places.solution(exercise_), Verdict::pass, "");
    proof_.kills.handle = exercise_.handle();
    for (const CheckReport& check : report_.checks) proof_.kills.checks.push_back(check.name);
    options_.battery = Battery::whole;
    if (exercise_.kind == Kind::code) reject_nothing_done();
    const fs::path folder = lab_.places.root / "tests" / "exercises" / exercise_.address();
    const MutantList list = read_mutants(folder / "mutants.toml");
    for (const std::string& problem : list.problems) complain(problem);
    int mutants = 0, alternatives = 0;
    for (const Mutant& mutant : list.mutants) mutants += reject(mutant);
    for (const fs::path& file : files_in(folder / "alternatives")) {
      if (expect("alternative " + file.filename().string(), file, Verdict::pass, "") == 0) continue;
      ++alternatives;
      proof_.kills.alternatives.push_back(file.stem().string());
    }
    if (list.mutants.size() < 3) complain("fewer than three mutants");
    if (files_in(folder / "alternatives").empty()) complain("no alternative");
    if (!lab_.sanitized) compare_with_kept();
    proof_.summary +=
        text(exercise_.handle(), ": ", mutants, " mutants rejected for their reason, ",
             alternatives, " alternatives accepted\n");
    return proof_;
  }

 private:
  // Sanitizers see more than what is kept.
  void compare_with_kept() {
    std::string why = "it is missing";
    if (fs::exists(kills_file(lab_, exercise_))) {
      why = first_difference(kept_kills(lab_, exercise_), proof_.kills);
    }
    if (why.empty()) return;
    complain(text(lab_.places.shown(kills_file(lab_, exercise_)), " is of another time: ", why,
                  ". Look, and then: ./lab dev matrix ", exercise_.handle(), " --write"));
  }

  void complain(const std::string& what) {
    proof_.holds = false;
    proof_.summary += exercise_.handle() + ": " + what + "\n";
  }

  // The laziest answer, made from the stub: every function returns at once, with nothing.
  void reject_nothing_done() {
    const fs::path file = scratch_ / "nothing_done" / exercise_.file();
    const std::string stub = read_text(lab_.places.stub(exercise_));
    for (const char* instead : {"return {};", "return;"}) {
      write_text(file, with_throws_replaced(stub, instead));
      report_ = grade_file(lab_, exercise_, file, options_).report;
      if (report_.verdict == Verdict::compile_error) continue;
      if (report_.verdict == Verdict::pass) complain("a body that does nothing passes");
      for (const CheckReport& check : report_.checks) {
        proof_.kills.fails_nothing_done.push_back(check.verdict != Verdict::pass);
      }
      return;
    }
  }

  int reject(const Mutant& mutant) {
    const fs::path file = scratch_ / mutant.name / exercise_.file();
    try {
      write_text(file, mutated(read_text(lab_.places.solution(exercise_)), mutant));
    } catch (const UsageError& misfit) {
      complain(misfit.what());
      return 0;
    }
    const int rejected = expect("mutant " + mutant.name, file, mutant.verdict, mutant.says);
    note_kills(mutant.name);
    return rejected;
  }

  void note_kills(const std::string& mutant) {
    MutantRow row{mutant, std::string(sim::name_of(report_.verdict)), report_.cause, {}};
    row.fails.assign(proof_.kills.checks.size(), false);
    if (report_.checks.size() == row.fails.size()) {  // else it was not even built
      for (std::size_t c = 0; c < row.fails.size(); ++c) {
        row.fails[c] = report_.checks[c].verdict != Verdict::pass;
      }
    }
    proof_.kills.mutants.push_back(std::move(row));
  }

  int expect(const std::string& name, const fs::path& file, Verdict verdict,
             const std::string& says) {
    return expect(name, file, std::string(sim::name_of(verdict)), says);
  }

  // 1 when the file is judged so and the reason, where one is asked for, is among what was said.
  int expect(const std::string& name, const fs::path& file, const std::string& verdict,
             const std::string& says) {
    report_ = grade_file(lab_, exercise_, file, options_).report;
    const Report& report = report_;
    const std::string said = what_a_student_reads();
    const std::string seen(sim::name_of(report.verdict));
    if (seen != verdict) {
      complain(text(name, " is judged '", seen, "', not '", verdict, "': ", report.message));
    } else if (said.find(says) == std::string::npos) {
      complain(text(name, " is rejected, but not for its reason '", says, "': ", report.message));
    } else if (verdict == "pass" && report.points != exercise_.points) {
      complain(text(name, " passes with ", report.points, " of ", exercise_.points, " points"));
    } else {
      return 1;
    }
    return 0;
  }

  // Without what only the whole battery comes to.
  std::string what_a_student_reads() const {
    std::string said = report_.cause + "\n" + report_.message;
    for (const CheckReport& check : report_.checks) {
      said += "\n" + check.message;
      const bool goes_on = check.verdict == Verdict::pass || check.verdict == Verdict::efficiency;
      if (!goes_on && exercise_.kind == Kind::code) break;
    }
    return said;
  }

  const Lab& lab_;
  const Exercise& exercise_;
  fs::path scratch_;
  JudgeOptions options_;
  Report report_;  // of the file judged last
  Proof proof_;
};

}  // namespace

fs::path kills_file(const Lab& lab, const Exercise& exercise) {
  return lab.places.root / "tests" / "exercises" / exercise.address() / "kills.md";
}

ExerciseKills kept_kills(const Lab& lab, const Exercise& exercise) {
  const fs::path file = kills_file(lab, exercise);
  const std::string written = read_text(file);
  try {
    return read_kills(written);
  } catch (const UsageError& error) {
    throw UsageError(lab.places.shown(file) + ": " + error.what());
  }
}

Proof prove_exercise(const Lab& lab, const Exercise& exercise) {
  return Prover(lab, exercise).prove();
}

}  // namespace lockstep::grader
