// A term as an instructor plays it: two hundred hand-ins, ten of them late, three second
// judgements, two decisions by hand, and a new version of one exercise in between. The commands
// that are typed are the ones below; one term is never interrupted, another is killed in each of
// its long runs and resumed.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/text.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path repository = LOCKSTEP_ROOT;
constexpr int students_count = 200, late_count = 10, files_of_term = 10;  // that differ
constexpr const char* exercises_of_term =
    "scale_learning_rate,average_gradients,05_data_parallel/quiz";

std::string name_of_student(int number) {
  char name[16];
  std::snprintf(name, sizeof name, "s%03d", number);
  return name;
}

std::string with_line(const std::string& source, const std::string& line) {
  const std::string begin = "// >>> your code\n";
  std::string changed = source;
  return changed.insert(changed.find(begin) + begin.size(), line);
}

// Two hundred students who hand in a dozen different files between them.
struct Term {
  Term() {
    const std::string lesson = "05_data_parallel/";
    const auto solution = [&](const std::string& file) {
      return read_text(repository / "solutions" / (lesson + file));
    };
    const std::string rate = solution("scale_learning_rate.cpp"),
                      mean = solution("average_gradients.cpp"), answered = answered_quiz(key());
    const std::vector<std::string> rates{
        rate,
        rate,
        rate + "// mine\n",
        with_line(rate, "return {};\n"),
        rate + "int broken = ;\n",
        read_text(repository / "exercises" / (lesson + "scale_learning_rate.cpp"))};
    const std::vector<std::string> means{mean, with_line(mean, "return;\n"), mean + "// mine\n"};
    const std::vector<std::string> answers{answered, answered + "# mine\n"};
    std::string list = "student,name,submitted at\n";
    for (int i = 1; i <= students_count; ++i) {
      const std::string name = name_of_student(i);
      const fs::path folder = submissions() / name / lesson;
      const auto of = [&](const std::vector<std::string>& all) {
        return all[static_cast<std::size_t>(i) % all.size()];
      };
      if (i % 50 != 0) write_text(folder / "scale_learning_rate.cpp", of(rates));
      if (i % 4 != 0) write_text(folder / "average_gradients.cpp", of(means));
      write_text(folder / "quiz.toml", of(answers));
      list += name + ",\"Student, " + std::to_string(i) + "\",2026-11-" +
              (i <= late_count ? "22" : "20") + " 12:00\n";
    }
    write("roster.csv", list);
    write("late.toml",
          "deadline = 2026-11-20T23:59:00+01:00\nloss_per_day = 10\ncap = 50\n"
          "[extensions]\ns003 = 7\n");
    write("overrides.csv",
          "student,exercise,points,comment,reason\ns013,average_gradients,5,,the idea is right\n"
          "s014,,,please see me,\n");
    write("seed", "a seed for tests that is no secret\n");
    fs::permissions(scratch.path() / "seed", fs::perms(0600));
    write("quiz_key.toml", read_text(key()) + "# mended in mid-term\n");
  }
  static fs::path key() { return repository / "solutions/05_data_parallel/quiz.toml"; }
  fs::path submissions() const { return scratch.path() / "submissions"; }
  void write(const char* file, const std::string& content) const {
    write_text(scratch.path() / file, content);
  }
  test::Scratch scratch;
};

enum class Fortune : unsigned char { undisturbed, killed };  // of the long runs

// One term's grades.
struct Played {
  Played(const Term& of, std::string folder) : term(of), name(std::move(folder)) {}

  // What is typed behind `./lab grade submissions --out term`.
  CommandResult type(const std::vector<std::string>& more, const std::string& before = "") const {
    std::vector<std::string> words{"sh",          "-c",          before + "\nexec \"$@\"",
                                   "sh",          LOCKSTEP_TOOL, "grade",
                                   "submissions", "--out",       name,
                                   "--seed-file", "seed"};
    if (!before.empty()) words.insert(words.begin(), {"unshare", "-m"});
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult typed = run_command(words, term.scratch.path(), lockstep::test::patient);
    std::cout << name << ": " << typed.seconds << " s for";
    for (const std::string& word : more) std::cout << " " << word;
    std::cout << "\n";
    return typed;
  }
  CommandResult type_by_new_key(const std::vector<std::string>& more) const {
    return type(more, new_key());
  }
  static std::string new_key() {
    return "mount --bind quiz_key.toml " + Term::key().string() + " || exit 77";
  }
  // The same, and the grader is killed once the journal has so many records of a kind more.
  void type_and_kill(const std::vector<std::string>& more, const std::string& kind, int records,
                     const std::string& before = "") const {
    std::string script =
        before + "\ncount() { grep -c '\"record\":\"" + kind + "\"' " + name +
        "/journal.jsonl 2>/dev/null || [ $? = 1 ] || echo 0; }\nend=$(($(count) + " +
        std::to_string(records) + "))\n" LOCKSTEP_TOOL " grade submissions --out " + name +
        " --seed-file seed";
    for (const std::string& word : more) script += " '" + word + "'";
    script +=
        " & grader=$!\n"
        "while kill -0 $grader 2>/dev/null && [ $(count) -lt $end ]; do sleep 0.01; done\n"
        "kill -9 $grader && wait";
    std::vector<std::string> words{"sh", "-c", script};
    if (!before.empty()) words.insert(words.begin(), {"unshare", "-m"});
    run_command(words, term.scratch.path(), lockstep::test::patient);
  }
  fs::path out() const { return term.scratch.path() / name; }
  // How often a file has been judged: records that are whole, as they are in the journal.
  int results() const {
    int count = 0;
    std::istringstream lines(read_text(out() / "journal.jsonl"));
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      count += line.find("\"record\":\"result\"") != std::string::npos;
    }
    return count;
  }
  // All that is handed out or imported, by file.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(out())) {
      const std::string file = entry.path().lexically_relative(out());
      if (!entry.is_regular_file() || file == "journal.jsonl" || file == "times.json") continue;
      found[file] = read_text(entry.path());
    }
    return found;
  }
  nlohmann::json row(const std::string& student, int exercise) const {
    const auto report = nlohmann::json::parse(read_text(out() / "students" / (student + ".json")));
    return report.at("rows").at(static_cast<std::size_t>(exercise));
  }
  const Term& term;
  std::string name;
};

int judged_now(const CommandResult& result) {
  const std::size_t words = result.output.find(" different files judged now");
  if (words == std::string::npos) return -1;
  return std::stoi(result.output.substr(result.output.rfind(' ', words - 1)));
}

// The ten who are two days late, one of them with an extension, lose a fifth; nobody else does.
void check_lateness(const Played& played) {
  int late = 0;
  for (int i = 1; i <= students_count; ++i) {
    const std::string name = name_of_student(i);
    INFO(name);
    const nlohmann::json row = played.row(name, 2);
    const int judged = row.at("judged_points");
    const bool loses = i <= late_count && name != "s003";
    CHECK(row.at("days_late") == (loses ? 2 : 0));
    CHECK(row.at("points") == judged - (loses ? judged * 20 / 100 : 0));
    late += row.at("days_late") > 0 ? 1 : 0;
  }
  CHECK(late == late_count - 1);
}

// Whether this machine can play it at all; the rest is required of it.
bool begins(const Played& played, Fortune fortune) {
  const std::vector<std::string> first{"--exercises", exercises_of_term, "--roster",
                                       "roster.csv",  "--late",          "late.toml"};
  if (fortune == Fortune::killed) {
    played.type_and_kill(first, "result", 4);
    CHECK_FALSE(fs::exists(played.out() / "grades.csv"));
    const int judged = played.results();  // more than asked for may end while the grader is killed
    CHECK(judged >= 4);
    const CommandResult resumed = played.type({"--resume"});
    INFO(resumed.output);
    CHECK(resumed.exit_code == 0);
    CHECK(judged_now(resumed) == files_of_term - judged);
    return true;
  }
  const CommandResult graded = played.type(first);
  if (graded.exit_code == 3) {
    std::cout << "NO SANDBOX HERE: " << graded.output << "\n";
    return false;
  }
  INFO(graded.output);
  REQUIRE(graded.exit_code == 0);
  CHECK_THAT(graded.output, test::contains(text("200 students, 3 exercises; ", files_of_term,
                                                " different files")));
  return true;
}

void goes_on(const Played& played) {
  CHECK(played.type({"--resume", "--overrides", "overrides.csv"}).exit_code == 0);
  const CommandResult again =
      played.type({"--regrade", "s007/scale_learning_rate,s011/average_gradients,s012/05"});
  INFO(again.output);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output, test::contains("3 different files judged now"));
}

// Returns whether this user may show the grader another key.
bool gets_a_new_key(const Played& played, Fortune fortune) {
  const CommandResult refused = played.type_by_new_key({"--resume"});
  if (refused.exit_code == 77 || refused.output.starts_with("unshare")) return false;
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, test::contains("--regrade '*/05_data_parallel/quiz'"));
  const std::vector<std::string> all{"--regrade", "*/05_data_parallel/quiz", "--format",
                                     "json,csv,html,gradescope,autolab,prairielearn,junit"};
  const int before = played.results();
  if (fortune == Fortune::killed) {  // mostly before it has judged one of the two
    played.type_and_kill(all, "regrade", 1, Played::new_key());
    CHECK_FALSE(fs::exists(played.out() / "gradescope"));
  }
  const int judged = played.results() - before;
  const std::vector<std::string> rest{"--resume", all[2], all[3]};
  const CommandResult again = played.type_by_new_key(fortune == Fortune::killed ? rest : all);
  INFO(again.output);
  CHECK(again.exit_code == 0);
  CHECK(judged_now(again) == 2 - judged);
  return true;
}

}  // namespace

TEST_CASE("a term: late hand-ins, second judgements, decisions by hand, a new version in between") {
  const Term term;
  const Played calm(term, "calm"), killed(term, "killed");
  if (!begins(calm, Fortune::undisturbed)) return;
  CHECK(calm.row("s001", 1).at("points") == 8);  // two days late
  check_lateness(calm);
  goes_on(calm);
  CHECK(calm.row("s013", 0).at("note") == "set by hand to 5: the idea is right");
  begins(killed, Fortune::killed);
  goes_on(killed);
  const bool has_new_key =
      gets_a_new_key(calm, Fortune::undisturbed) && gets_a_new_key(killed, Fortune::killed);
  const auto files = calm.files();
  CHECK(files.size() >= 3 * students_count + 5);
  CHECK(files == killed.files());
  if (!has_new_key) std::cout << "NO MOUNTS HERE: this user cannot give a test another key\n";
}
