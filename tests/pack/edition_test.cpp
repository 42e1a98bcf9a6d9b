// The students' edition, made of this build, unpacked somewhere else and used by somebody else.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <regex>

#include "engine/base/edition.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/leaks.hpp"
#include "grader/pack/student_edition.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// Unpacked once for all tests of a process. A blank in its path, and owned by whoever uses it.
class Edition {
 public:
  Edition() {
    const fs::path packed = scratch_.path() / "student.tar.gz";
    const CommandResult made = run_command(
        {LOCKSTEP_GRADE, "pack", "student", "--rounds", "1000", "--out", packed.string()},
        LOCKSTEP_ROOT, lockstep::test::patient);
    if (made.exit_code != 0) throw std::runtime_error(made.output);
    said_ = made.output;
    packed_bytes_ = fs::file_size(packed);
    digest_ = run_command({"sha256sum", "--check", packed.string() + ".sha256"}, scratch_.path(),
                          lockstep::test::patient);
    const fs::path home = scratch_.path() / "a home";
    fs::create_directory(home);
    run_command({"tar", "-xzf", packed.string(), "-C", home.string()}, "/",
                lockstep::test::patient);
    folder_ = home / "lockstep";
    write_text(folder_ / "build/packages-by-hand", "");
    const fs::path notes = scratch_.path() / "notes";
    for (const char* name : {"cmake", "ninja"}) {
      const fs::path tool = tools() / name;
      write_text(tool,
                 "#!/bin/sh\necho \"$0 $*\" >>'" + (notes / "called").string() + "'\nexit 99\n");
      fs::permissions(tool, fs::perms(0755));
    }
    fs::create_directory(notes);
    fs::permissions(notes, fs::perms::all);
    if (::getuid() == 0) {
      fs::permissions(scratch_.path(), fs::perms(0755));
      run_command({"chown", "-R", "nobody", home.string()}, "/", {});
    }
  }

  const fs::path& folder() const { return folder_; }
  const std::string& said() const { return said_; }
  const CommandResult& digest() const { return digest_; }
  // Unpacks the archive over what is there, as a student does with a later one.
  void unpack_again() const {
    as_student({"tar", "-xzf", (scratch_.path() / "student.tar.gz").string(), "-C", ".."});
  }
  std::uintmax_t packed_bytes() const { return packed_bytes_; }

  // What was called of CMake and ninja. Those that come first in PATH leave a note and fail.
  std::string build_tools_called() const {
    const fs::path note = scratch_.path() / "notes" / "called";
    const std::string called = fs::exists(note) ? read_text(note) : "";
    fs::remove(note);
    return called;
  }

  // As another user where that is possible, in an environment that knows nothing.
  CommandResult as_student(const std::vector<std::string>& words) const {
    std::vector<std::string> line;
    if (::getuid() == 0) line = {"setpriv", "--reuid", "nobody", "--clear-groups"};
    const std::string path = "PATH=" + tools().string() + ":/usr/bin:/bin";
    line.insert(line.end(), {"env", "-i", path, "HOME=/nonexistent"});
    line.insert(line.end(), words.begin(), words.end());
    return run_command(line, folder_, lockstep::test::patient);
  }
  CommandResult lab(std::vector<std::string> words) const {
    words.insert(words.begin(), "./lab");
    return as_student(words);
  }

  void put(const std::string& file) const {
    const fs::path reference = fs::path(LOCKSTEP_ROOT) / "solutions" / file;
    write_text(folder_ / "work" / file,
               reference.extension() == ".toml" ? answered_quiz(reference) : read_text(reference));
    if (::getuid() == 0) {
      run_command({"chown", "-R", "nobody", (folder_ / "work").string()}, "/", {});
    }
  }

 private:
  fs::path tools() const { return scratch_.path() / "tools"; }

  test::Scratch scratch_;
  fs::path folder_;
  std::string said_;
  CommandResult digest_;
  std::uintmax_t packed_bytes_ = 0;
};

std::vector<std::string> files_named(const fs::path& folder, const std::string& part) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (name.find(part) != std::string::npos) found.push_back(name);
  }
  return found;
}

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// What a shell prints in a folder.
std::string shell(const std::string& script, const fs::path& folder) {
  return run_command({"sh", "-c", script}, folder, lockstep::test::patient).output;
}

// Pages whose pictures are not there.
std::vector<std::string> broken_pictures(const fs::path& folder) {
  std::vector<std::string> broken;
  const std::regex picture(R"(!\[[^\]]*\]\(([^)\s]+)\))");
  for (const std::string& page : files_named(folder, ".md")) {
    const std::string words = read_text(folder / page);
    for (std::sregex_iterator at(words.begin(), words.end(), picture), end; at != end; ++at) {
      const fs::path file = (folder / page).parent_path() / (*at)[1].str();
      if (!fs::exists(file)) broken.push_back(page + " → " + (*at)[1].str());
    }
  }
  return broken;
}

}  // namespace

TEST_CASE("edition: a program finds it above itself, a few levels up") {
  const test::Scratch scratch;
  const fs::path program = scratch.path() / "build/release/bin/train";
  CHECK(edition_above(program) == std::nullopt);
  write_text(scratch.path() / "edition", "");
  CHECK(edition_above(program) == scratch.path());
  CHECK(edition_above(scratch.path() / "a/b/c/d/e/f/train") == std::nullopt);
  CHECK(folder_of_edition() == std::nullopt);
}

// One test, since the edition takes half a minute to make.
TEST_CASE("edition: works at another path as another user, and shows no reference") {
  const Edition edition;
  CHECK(edition.packed_bytes() < 150'000'000);
  CHECK(bytes_below(edition.folder()) < 166'000'000);  // 165.5 with lessons 00 to 17 and 22
  CHECK(shell("find build/release -type f -exec readelf -SW {} + 2>&1 | grep -c '\\.text'",
              edition.folder()) != "0\n");
  CHECK(shell("find build/release -type f -exec readelf -SW {} + 2>&1 | grep '\\.debug_'",
              edition.folder())
            .empty());
  CHECK(shell("grep -rlF '" LOCKSTEP_ROOT "' .", edition.folder()).empty());
  CHECK(broken_pictures(edition.folder()) == std::vector<std::string>{});
  CHECK_THAT(edition.said(), test::contains("small ones can be guessed") &&
                                 test::contains("\n  sha256sum --check student.tar.gz.sha256\n"));
  CHECK(edition.digest().output == "student.tar.gz: OK\n");
  // Nothing in it but its files says when and by whom it was made.
  CHECK(shell("find . -newermt 2000-01-02 -path './build/release/*' | head -n 3",
              edition.folder()) == "");

  CHECK(edition.as_student({"ninja", "--version"}).exit_code == 99);
  CHECK_THAT(edition.build_tools_called(), test::contains("ninja --version"));

  // The first verdict.
  const CommandResult first = edition.lab({"check", "broadcast", "--from", "exercises"});
  CHECK(first.exit_code == 1);
  CHECK_THAT(first.output, test::contains("03_collectives/broadcast  unsolved  0/10 points"));
  CHECK(first.processor_s < 30);  // seconds depend on what else the machine does
  std::cout << "first verdict after " << first.seconds << " s\n";

  // What students do.
  edition.put("03_collectives/broadcast.cpp");
  edition.put("05_data_parallel/quiz.toml");
  CHECK(edition.lab({"check", "broadcast"}).exit_code == 0);
  const CommandResult quiz = edition.lab({"check", "05_data_parallel/quiz"});
  CHECK(quiz.exit_code == 0);
  CHECK_THAT(edition.lab({"compare", "broadcast"}).output, test::contains("\n  reference "));
  const CommandResult solution = edition.lab({"solution", "broadcast", "--reveal"});
  CHECK(solution.exit_code == 1);
  CHECK_THAT(solution.output,
             test::contains("This is the students' edition: it has no references"));
  const CommandResult broken = edition.lab({"train", "--break", "no_average"});
  CHECK(broken.exit_code == 0);
  CHECK_THAT(broken.output, test::contains("4 different models on 4 ranks"));
  const CommandResult with_work = edition.lab({"train", "--steps", "2", "--with", "work"});
  CHECK(with_work.exit_code == 0);
  CHECK_THAT(with_work.output, test::contains(" parts that you have not written\n"));
  // Every way to train is there.
  CHECK(edition.lab({"train", "--pp", "2", "--data", "synthetic", "--steps", "2"}).exit_code == 0);
  CHECK(edition.lab({"check", "broadcast", "--world", "gloo"}).exit_code == 0);
  const CommandResult nccl = edition.lab({"check", "broadcast", "--world", "nccl", "--paper"});
  CHECK(nccl.exit_code != 0);
  CHECK_THAT(nccl.output, test::contains("the students' edition, which has no code for GPUs"));
  const CommandResult grade = edition.lab({"grade", "class", "--out", "out"});
  CHECK(grade.exit_code == 2);
  CHECK_THAT(grade.output, test::contains("students' edition, which has no ./lab grade"));

  // Every command that its README and ./lab help offer is there, with the options that README
  // types.
  const std::string readme = read_text(edition.folder() / "README.md");
  const std::string listed = edition.lab({"help"}).output;
  CHECK_THAT(listed, test::contains("\n  check ") && !test::contains("\n  grade "));
  std::set<std::string> offered;
  const std::regex typed("\\./lab ([a-z]+)([^`\n]*)"), entry("\n  ([a-z]+) "), option("--[a-z-]+");
  for (std::sregex_iterator at(listed.begin(), listed.end(), entry), end; at != end; ++at) {
    offered.insert((*at)[1]);
  }
  for (std::sregex_iterator at(readme.begin(), readme.end(), typed), end; at != end; ++at) {
    offered.insert((*at)[1]);
    const std::string help = edition.lab({(*at)[1], "--help"}).output, rest = (*at)[2];
    for (std::sregex_iterator one(rest.begin(), rest.end(), option), last; one != last; ++one) {
      INFO((*at).str());
      CHECK_THAT(help, test::contains(one->str()));
    }
  }
  CHECK(offered.size() > 15);
  for (const std::string& command : offered) {
    INFO(command);
    CHECK(edition.lab({command, "--help"}).exit_code == 0);
  }

  const CommandResult predicted = edition.lab({"predict", "03.1", "--answer", "c"});
  CHECK(predicted.exit_code == 0);
  CHECK_THAT(predicted.output, test::contains("Right: "));
  const CommandResult myth = edition.lab({"myth", "barrier_delivers"});
  CHECK(myth.exit_code == 0);
  const CommandResult start = edition.lab({"start", "--yes"});
  INFO(start.output);
  CHECK(start.exit_code == 0);
  CHECK_THAT(start.output, test::contains("[5/5]"));
  CHECK_THAT(start.output, test::contains("Ready in "));
  CHECK(edition.build_tools_called().empty());

  // What is not in it.
  for (const char* part :
       {"solutions/0", "exam.cpp", "mutants.toml", "alternatives/", "kill_matrix", ".git", "tests/",
        "CMakeLists", "broken/no_average.cpp"}) {
    const auto found = files_named(edition.folder(), part);
    INFO(part << ": " << (found.empty() ? "" : found.front()));
    CHECK(found.empty());
  }
  // Of a quiz only what students see.
  const auto quizzes = files_named(edition.folder() / "exercises", "quiz.toml");
  CHECK(quizzes.size() >= 11);
  for (const std::string& copy : quizzes) {
    INFO(copy);
    const std::string words = read_text(edition.folder() / "exercises" / copy);
    CHECK_THAT(words, test::contains("\nanswer = \"\"") && !test::contains("because =") &&
                          !test::contains("otherwise =") && !test::contains("wrong]"));
  }
  const Shingles shingles(LOCKSTEP_ROOT);
  // work/ has this test's own copy of a reference, and programs linked with it.
  fs::remove_all(edition.folder() / "work");
  fs::remove_all(edition.folder() / "build/release/students");
  CHECK(shingles.found_below(edition.folder()).empty());
  const fs::path left = "lessons/06_all_reduce/ring_all_reduce.cpp";
  fs::copy_file(fs::path(LOCKSTEP_ROOT) / "solutions/06_all_reduce/ring_all_reduce.cpp",
                edition.folder() / left);
  const auto leaks = shingles.found_below(edition.folder());
  REQUIRE(leaks.size() == 1);
  CHECK_THAT(leaks[0], test::contains(left.string()));

  // Unpacked over an older edition: work stays, and nothing that was made of it is taken for new.
  write_text(edition.folder() / "work/03_collectives/broadcast.cpp", "mine");
  write_text(edition.folder() / "build/release/students/03.hpp.gch", "of the old contracts");
  write_text(edition.folder() / "build/unpacked", "another digest");
  if (::getuid() == 0) run_command({"chown", "-R", "nobody", edition.folder().string()}, "/", {});
  edition.unpack_again();
  CHECK(edition.lab({"list"}).exit_code == 0);
  CHECK(read_text(edition.folder() / "work/03_collectives/broadcast.cpp") == "mine");
  CHECK_FALSE(fs::exists(edition.folder() / "build/release/students/03.hpp.gch"));
  CHECK(fs::exists(edition.folder() / "build/release/students/03.hpp"));

  // What does not fit.
  fs::remove(edition.folder() / "build/unpacked");
  std::ofstream(edition.folder() / "build/release/bin/sim", std::ios::app) << "damaged";
  const CommandResult damaged = edition.lab({"list"});
  CHECK(damaged.exit_code == 3);
  CHECK_THAT(damaged.output, test::contains("are missing or damaged") &&
                                 test::contains("(sha256sum --check FILE.tar.gz.sha256)"));
  const std::string about = read_text(edition.folder() / "edition");
  const std::size_t system = about.find("system ") + 7;
  write_text(edition.folder() / "edition", about.substr(0, system) + "plan9 4\ncompiler 3.0 vax\n");
  const CommandResult elsewhere = edition.lab({"list"});
  CHECK(elsewhere.exit_code == 3);
  CHECK_THAT(elsewhere.output, test::contains("It was made for: plan9 4, g++ 3.0 vax"));
}
