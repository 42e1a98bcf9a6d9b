#include "grader/lab/proof.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/course/patch.hpp"
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

// "# verdict: wrong answer" → "wrong answer"
std::string header_of(const std::string& patch, const std::string& key) {
  const std::string mark = "# " + key + ": ";
  const std::size_t at = patch.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t start = at + mark.size();
  return patch.substr(start, patch.find('\n', start) - start);
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
    const fs::path folder = lab_.places.root / "tests" / "exercises" / exercise_.address();
    int mutants = 0, alternatives = 0;
    for (const fs::path& patch : files_in(folder / "mutants")) {
      mutants += reject(patch);
    }
    for (const fs::path& file : files_in(folder / "alternatives")) {
      alternatives += expect("alternative " + file.filename().string(), file, Verdict::pass, "");
    }
    if (files_in(folder / "mutants").size() < 3) complain("fewer than three mutants");
    if (files_in(folder / "alternatives").empty()) complain("no alternative");
    proof_.summary +=
        text(exercise_.handle(), ": ", mutants, " mutants rejected for their reason, ",
             alternatives, " alternatives accepted\n");
    return proof_;
  }

 private:
  void complain(const std::string& what) {
    proof_.holds = false;
    proof_.summary += exercise_.handle() + ": " + what + "\n";
  }

  int reject(const fs::path& patch) {
    const std::string diff = read_text(patch);
    const std::string wanted = header_of(diff, "verdict");
    const std::string says = header_of(diff, "says");
    const std::string name = "mutant " + patch.stem().string();
    if (wanted.empty() || says.empty()) {
      complain(name + " does not begin with '# verdict: …' and '# says: …'");
      return 0;
    }
    const fs::path file = scratch_ / patch.stem() / exercise_.file();
    write_text(file, patched(read_text(lab_.places.solution(exercise_)), diff));
    return expect(name, file, wanted, says);
  }

  int expect(const std::string& name, const fs::path& file, Verdict verdict,
             const std::string& says) {
    return expect(name, file, std::string(sim::name_of(verdict)), says);
  }

  // 1 when the file is judged so and the reason, where one is asked for, is among what was said.
  int expect(const std::string& name, const fs::path& file, const std::string& verdict,
             const std::string& says) {
    const Report report = grade_file(lab_, exercise_, file, options_).report;
    std::string said = report.cause + "\n" + report.message;
    for (const CheckReport& check : report.checks) said += "\n" + check.message;
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

  const Lab& lab_;
  const Exercise& exercise_;
  fs::path scratch_;
  JudgeOptions options_;
  Proof proof_;
};

}  // namespace

Proof prove_exercise(const Lab& lab, const Exercise& exercise) {
  return Prover(lab, exercise).prove();
}

}  // namespace lockstep::grader
