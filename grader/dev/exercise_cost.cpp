#include "grader/dev/exercise_cost.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/exercise_lines.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

fs::path cost_note_of(const Lab& lab, const Exercise& exercise) {
  return lab.places.build / "proofs" / (exercise.address() + ".cost");
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> notes_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) files.push_back(entry.path());
  return files;
}

// The note that cmake/measured.sh made of an object.
struct Measured {
  double seconds = 0;
  std::string object;  // from the build's folder
};

std::optional<Measured> measured(const fs::path& note) {
  const auto lines = lines_of(note);  // of `times`, the shell's own come first
  if (lines.size() != 3) return std::nullopt;
  return Measured{seconds_of_children(lines[1]), lines[2]};
}

// The part of a unit that is made of sources below `folder`.
double share_of(const fs::path& unit, const std::string& folder) {
  double own = 0, all = 0;
  const std::string directive = "#include \"";
  for (const std::string& line : lines_of(unit)) {
    if (!line.starts_with(directive)) continue;
    const std::string source = line.substr(directive.size(), line.rfind('"') - directive.size());
    std::error_code absent;
    const auto bytes = static_cast<double>(fs::file_size(source, absent));
    if (absent) continue;
    all += bytes;
    if (source.find(folder) != std::string::npos) own += bytes;
  }
  return all > 0 ? own / all : 0;
}

std::optional<double> seconds_of_objects(const Lab& lab, const Exercise& exercise) {
  const fs::path times = lab.places.build / "times";
  std::optional<double> sum;
  const auto add = [&](double seconds) { sum = sum.value_or(0) + seconds; };
  for (const char* kind : {"part_", "player_"}) {
    for (const fs::path& note : notes_in(times / (kind + exercise.name))) {
      if (const auto one = measured(note)) add(one->seconds);
    }
  }
  const std::string own = "/grader/parts/" + exercise.address() + "/";
  for (const fs::path& note : notes_in(times / lab.places.judge(exercise).filename())) {
    const auto one = measured(note);
    if (!one || !one->object.ends_with(".o")) continue;
    const fs::path unit =
        lab.places.build / one->object.substr(0, one->object.size() - std::string(".o").size());
    add(one->seconds * share_of(unit, own));
  }
  return sum;
}

std::optional<ProofCost> read_note(const fs::path& file) {
  std::ifstream in(file);
  ProofCost cost;
  std::string word;
  in >> word >> cost.mutants >> word >> cost.alone >> word >> cost.compiling_s >> word >>
      cost.judging_s >> word >> cost.yardstick_s;
  if (!in || cost.yardstick_s <= 0) return std::nullopt;
  return cost;
}

}  // namespace

double processor_seconds_used() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

double yardstick_seconds() {
  const auto once = [] {
    timespec start{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    std::map<std::string, unsigned> names;  // as compilers do: many small allocations and searches
    unsigned number = 1;
    for (unsigned i = 0; i < 40'000; ++i) {
      number = number * 1664525U + 1013904223U;
      names["name_" + std::to_string(number >> 10U)] += i;
    }
    LOCKSTEP_CHECK(!names.empty(), "the yardstick has done nothing");
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return static_cast<double>(end.tv_sec - start.tv_sec) +
           static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
  };
  return std::min({once(), once(), once(), once(), once()});
}

void note_cost(const Lab& lab, const Exercise& exercise, const ProofCost& cost) {
  std::ostringstream out;
  out << "mutants " << cost.mutants << "\nalone " << cost.alone << "\ncompiling_s "
      << cost.compiling_s << "\njudging_s " << cost.judging_s << "\nyardstick_s "
      << cost.yardstick_s << "\n";
  write_text(cost_note_of(lab, exercise), out.str());
}

std::vector<ExerciseCost> noted_costs(const Lab& lab) {
  std::vector<ExerciseCost> costs;
  for (const Exercise& exercise : lab.course.exercises) {
    const auto proof = read_note(cost_note_of(lab, exercise));
    if (!proof) continue;
    ExerciseCost cost{exercise.address(), 0, {}, *proof};
    if (exercise.kind == Kind::code) {
      cost.lines = lines_of(lab.places, exercise);
      cost.objects_s = seconds_of_objects(lab, exercise);
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

double seconds_of_children(const std::string& times) {
  std::istringstream in(times);
  double sum = 0, minutes = 0, seconds = 0;
  char unit = ' ';
  while (in >> minutes >> unit >> seconds >> unit) sum += 60 * minutes + seconds;
  return sum;
}

std::string table_of(const std::vector<ExerciseCost>& costs) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  const auto row = [&](const std::string& name, double building_s, double proving_s, int mutants,
                       int lines) {
    out << "  " << std::left << std::setw(52) << name << std::right << std::setw(9) << building_s
        << std::setw(9) << proving_s << std::setw(9) << mutants << std::setw(7) << lines << "\n";
  };
  out << "per exercise, in processor seconds:" << std::string(19, ' ')
      << " building  proving  mutants  lines\n";
  double building_s = 0, proving_s = 0;
  int mutants = 0, lines = 0;
  bool all_measured = true;
  for (const ExerciseCost& cost : costs) {
    row(cost.address, cost.building_s(), cost.proving_s(), cost.proof.mutants, cost.lines);
    building_s += cost.building_s();
    proving_s += cost.proving_s();
    mutants += cost.proof.mutants;
    lines += cost.lines;
    all_measured = all_measured && (cost.objects_s || cost.is_quiz());
  }
  row(text("all ", costs.size()), building_s, proving_s, mutants, lines);
  if (!all_measured) {
    out << "  (without exams, players and references, whose compiling was not measured: a compiler "
           "cache)\n";
  }
  return out.str();
}

}  // namespace lockstep::grader
