// One rule for folders and archives: each shape of a hand-in, in each container.
#include "grader/batch/hand_ins/hand_in.hpp"

#include <map>

#include "tests/batch/made_archive.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using test::Member;
namespace fs = std::filesystem;

namespace {

const std::string ring_file = "06_all_reduce/ring_all_reduce.cpp";
const std::string tree_file = "06_all_reduce/tree_all_reduce.cpp";

const std::vector<const Exercise*>& two_exercises() {
  static const Course course = read_course(fs::path(LOCKSTEP_ROOT) / "exercises" / "course.toml");
  static const std::vector<const Exercise*> both{&exercise_named(course, "ring_all_reduce"),
                                                 &exercise_named(course, "tree_all_reduce")};
  return both;
}

// The same members as a folder, a zip and a tar.gz, read by one function.
std::map<std::string, Submission> in_each_container(const std::vector<Member>& members) {
  std::map<std::string, Submission> read;
  const auto only = [](const fs::path& folder) {
    const auto all = take_in(folder, two_exercises()).submissions;
    REQUIRE(all.size() == 1);
    CHECK(all.front().student == "amy");
    return all.front();
  };
  for (const std::string name : {"amy", "amy.zip", "amy.tar.gz"}) {
    const test::Scratch scratch;
    if (name == "amy") {
      test::write_folder(scratch.path() / name, members);
    } else {
      test::write_archive(scratch.path() / name, members);
    }
    read[name] = only(scratch.path());
  }
  return read;
}

void check_found(const std::vector<Member>& members) {
  for (const auto& [container, submission] : in_each_container(members)) {
    INFO(container << ": " << submission.cause << " " << submission.reason);
    REQUIRE(submission.cause.empty());
    const Answer& ring = submission.answers.at("06_all_reduce/ring_all_reduce");
    INFO(ring.reason);
    CHECK(ring.content == "mine");
    const Answer& tree = submission.answers.at("06_all_reduce/tree_all_reduce");
    CHECK(tree.state == Answer::State::missing);
    CHECK_THAT(tree.reason, test::contains("there is no"));
  }
}

void check_refused(const std::vector<Member>& members, const std::string& cause,
                   const std::vector<std::string>& says) {
  for (const auto& [container, submission] : in_each_container(members)) {
    INFO(container << ": " << submission.reason);
    CHECK(submission.cause == cause);
    for (const std::string& words : says) CHECK_THAT(submission.reason, test::contains(words));
  }
}

}  // namespace

TEST_CASE("hand-ins: the shallowest work folder counts, in each container") {
  SECTION("work itself") { check_found({{"work/" + ring_file, "mine"}}); }
  SECTION("the repository as GitHub packs it") {
    check_found({{"lockstep-main/README.md", "x"},
                 {"lockstep-main/exercises/" + ring_file, "stub"},
                 {"lockstep-main/exercises/" + tree_file, "stub"},
                 {"lockstep-main/solutions/" + ring_file, "reference"},
                 {"lockstep-main/work/" + ring_file, "mine"}});
  }
  SECTION("the repository in a folder of the student's") {
    check_found({{"gus/lockstep-main/work/" + ring_file, "mine"},
                 {"gus/lockstep-main/exercises/" + ring_file, "stub"},
                 {"gus/letter.txt", "hello"}});
  }
  SECTION("with an old copy inside") {
    check_found({{"work/" + ring_file, "mine"},
                 {"work/old/" + ring_file, "old"},
                 {"work/old/" + tree_file, "old"},
                 {"work/work/" + ring_file, "older"}});
  }
  SECTION("with copies in a build folder, deeper") {
    check_found({{"build/a/work/" + ring_file, "copy"},
                 {"build/a/work/" + tree_file, "copy"},
                 {"work/" + ring_file, "mine"}});
  }
  SECTION("beside lessons at the root") {
    check_found({{ring_file, "other"}, {tree_file, "other"}, {"work/" + ring_file, "mine"}});
  }
  SECTION("a folder called work above it that holds no lesson") {
    check_found({{"work/lockstep-main/work/" + ring_file, "mine"}, {"work/a.txt", "x"}});
  }
}

TEST_CASE("hand-ins: without a work folder the root counts, in each container") {
  SECTION("what work contains") { check_found({{ring_file, "mine"}, {"submission.json", "{}"}}); }
  SECTION("the same in a folder of the student's") {
    check_found({{"gus/" + ring_file, "mine"}, {"letter.txt", "hello"}});
  }
  SECTION("the same, deeper, in letters that are not English") {
    check_found({{"Zoë/Übung/" + ring_file, "mine"}});
  }
  SECTION("in a folder whose name is not UTF-8") { check_found({{"Zo\xeb/" + ring_file, "mine"}}); }
  SECTION("beside a work folder without lessons") {
    check_found({{ring_file, "mine"}, {"work/notes.txt", "x"}});
  }
}

TEST_CASE("hand-ins: an exercise that moved to another lesson is found at its earlier place, too") {
  Exercise moved;
  moved.name = "part";
  moved.lesson = "06_x";
  moved.moved_from = "09_y";
  const auto answer_in = [&](const std::vector<Member>& members) {
    const test::Scratch scratch;
    test::write_folder(scratch.path() / "amy", members);
    return take_in(scratch.path(), {&moved}).submissions.at(0).answers.at("06_x/part");
  };
  CHECK(answer_in({{"work/09_y/part.cpp", "mine"}}).content == "mine");
  CHECK(answer_in({{"work/09_y/part.cpp", "old"}, {"work/06_x/part.cpp", "mine"}}).content ==
        "mine");
  const Answer none = answer_in({{"work/09_y/other.cpp", "mine"}});
  CHECK(none.state == Answer::State::missing);
  CHECK_THAT(none.reason, test::contains("there is no work/06_x/part.cpp"));
}

TEST_CASE("hand-ins: a zip that says its names are UTF-8 is read, whatever the locale") {
  // Zoë/06_all_reduce/ring_all_reduce.cpp, stored, as Python and Windows write it: flag 11 is set.
  const std::string name = "Zo\u00eb/" + ring_file, content = "mine";
  const auto little = [](std::uint32_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  const std::string about = little(20, 2) + little(0x800, 2) + little(0, 2) + little(0, 4) +
                            little(0x69a8d393, 4) + little(4, 4) + little(4, 4) +
                            little(static_cast<std::uint32_t>(name.size()), 2) + little(0, 2);
  const std::string file = "PK\x03\x04" + about + name + content;
  const std::string listed = "PK\x01\x02" + little(20, 2) + about + little(0, 4) + little(0, 4) +
                             little(0, 4) + little(0, 2) + name;
  const test::Scratch scratch;
  write_text(scratch.path() / "amy.zip",
             file + listed + "PK\x05\x06" + little(0, 4) + little(1, 2) + little(1, 2) +
                 little(static_cast<std::uint32_t>(listed.size()), 4) +
                 little(static_cast<std::uint32_t>(file.size()), 4) + little(0, 2));
  const auto all = take_in(scratch.path(), two_exercises()).submissions;
  REQUIRE(all.size() == 1);
  INFO(all.front().reason);
  CHECK(all.front().answers.at("06_all_reduce/ring_all_reduce").content == "mine");
}

TEST_CASE("hand-ins: how a path is written makes no difference, in each container") {
  SECTION("by macOS, with its forks") {
    check_found({{"work/" + ring_file, "mine"},
                 {"__MACOSX/work/06_all_reduce/._ring_all_reduce.cpp", "fork"},
                 {"__MACOSX/work/" + tree_file, "fork"},
                 {"work/.DS_Store", "x"}});
  }
  SECTION("with a hidden folder") {
    check_found({{".git/work/" + tree_file, "old"},
                 {".old/work/" + tree_file, "old"},
                 {"a/b/work/" + ring_file, "mine"}});
  }
  SECTION("by Windows") {
    check_found({{"work\\06_all_reduce\\ring_all_reduce.cpp", "mine"}, {"a\\b.txt", "x"}});
  }
  SECTION("with dots") { check_found({{"./work/./" + ring_file, "mine"}}); }
}

TEST_CASE("hand-ins: capitals and other places are not the exercise's, and the nearest is told") {
  SECTION("a capital") {
    check_refused({{"Work/" + ring_file, "mine"}, {"src/a.txt", "x"}}, "nothing_found",
                  {"of its 2 files, none", "did you mean Work?"});
  }
  SECTION("the file's own capitals") {
    check_refused({{"work/06_All_Reduce/Ring_All_Reduce.cpp", "mine"}}, "nothing_found",
                  {"did you mean work/06_All_Reduce/Ring_All_Reduce.cpp?", ring_file});
  }
  SECTION("at the root") {
    check_refused({{"ring_all_reduce.cpp", "mine"}}, "nothing_found",
                  {"its file is not at the place of a graded exercise",
                   "did you mean ring_all_reduce.cpp?", "belongs in 06_all_reduce/"});
  }
  SECTION("the repository without work") {
    check_refused({{"lockstep-main/exercises/" + ring_file, "stub"},
                   {"lockstep-main/solutions/" + ring_file, "reference"}},
                  "nothing_found", {"./lab submit packs work/"});
  }
  SECTION("the course's own folder alone") {
    check_refused({{"solutions/" + ring_file, "reference"}}, "nothing_found", {"./lab submit"});
  }
  SECTION("among two folders") {
    check_refused({{"gus/" + ring_file, "mine"}, {"docs/letter.txt", "x"}}, "nothing_found",
                  {"did you mean gus?"});
  }
  SECTION("in another archive, in a folder") {
    check_refused({{"a/b.zip", "PK"}}, "nothing_found", {"the archive a/b.zip"});
  }
  SECTION("nowhere") {
    check_refused({{"essay.txt", "x"}}, "nothing_found",
                  {"its file is not at the place of a graded exercise"});
  }
}

TEST_CASE("hand-ins: what cannot be decided is refused with what mends it, in each container") {
  SECTION("two work folders at one depth") {
    check_refused({{"a/work/" + ring_file, "one"}, {"b/work/" + ring_file, "two"}}, "ambiguous",
                  {"a/work/", "b/work/", "keep one"});
  }
  SECTION("a link to work") {
    check_refused({{"work", "", AE_IFLNK, "/home/amy/lockstep/work"}}, "symbolic_link",
                  {"work is a symbolic link"});
  }
  SECTION("a link to a lesson") {
    for (const auto& [container, submission] :
         in_each_container({{"work/06_all_reduce", "", AE_IFLNK, "../../06_all_reduce"}})) {
      INFO(container);
      CHECK(submission.answers.at("06_all_reduce/ring_all_reduce").cause == "symbolic_link");
    }
  }
}

TEST_CASE("hand-ins: one with ignored files only is empty, in each container") {
  check_refused({{".git/work/" + ring_file, "x"}, {"__MACOSX/work/" + ring_file, "x"}}, "empty",
                {"holds no file", "./lab submit"});
}

TEST_CASE("hand-ins: an empty one is told apart from one with other files") {
  const test::Scratch scratch;
  fs::create_directories(scratch.path() / "amy" / "work" / "06_all_reduce");
  test::write_archive(scratch.path() / "bob.zip", {});
  test::write_archive(scratch.path() / "cid.tar.gz", {{"work/", "", AE_IFDIR}});
  fs::create_directories(scratch.path() / "dee" / ".git");
  const auto all = take_in(scratch.path(), two_exercises()).submissions;
  REQUIRE(all.size() == 4);
  for (const Submission& submission : all) {
    INFO(submission.student << ": " << submission.reason);
    CHECK(submission.cause == "empty");
    CHECK_THAT(submission.reason, test::contains("./lab submit"));
  }
}

TEST_CASE("hand-ins: one archive in a folder is the hand-in, as learning platforms store it") {
  const test::Scratch scratch;
  const fs::path amy = scratch.path() / "Amy_12_assignsubmission_file_";
  fs::create_directories(amy);
  test::write_archive(amy / "submission.ZIP", {{ring_file, "mine"}});
  SECTION("alone, or with other files") {
    write_text(amy / "letter.txt", "hello");
    const auto all = take_in(scratch.path(), two_exercises(), {}, "moodle").submissions;
    REQUIRE(all.size() == 1);
    CHECK(all.front().student == "Amy");
    CHECK(all.front().answers.at("06_all_reduce/ring_all_reduce").content == "mine");
  }
  SECTION("with another") {
    test::write_archive(amy / "work.zip", {{ring_file, "mine"}});
    const auto all = take_in(scratch.path(), two_exercises()).submissions;
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "ambiguous");
    CHECK_THAT(all.front().reason, test::contains("submission.ZIP and work.zip"));
  }
}

TEST_CASE("hand-ins: a file twice in an archive is refused, and no other") {
  const test::Scratch scratch;
  test::write_archive(scratch.path() / "amy.zip", {{"work/" + ring_file, "one"},
                                                   {"./work/" + ring_file, "two"},
                                                   {"work/" + tree_file, "mine"}});
  const auto all = take_in(scratch.path(), two_exercises()).submissions;
  REQUIRE(all.size() == 1);
  CHECK(all.front().answers.at("06_all_reduce/ring_all_reduce").cause == "twice");
  CHECK(all.front().answers.at("06_all_reduce/tree_all_reduce").content == "mine");
}

TEST_CASE("hand-ins: no path leads out of a hand-in or hides in one") {
  CHECK(normal_path("./a//b\\c/") == "a/b/c");
  CHECK(normal_path("/a/b") == "a/b");
  CHECK(normal_path("../a").empty());
  CHECK(normal_path("a/../b").empty());
  CHECK(normal_path(".").empty());
  CHECK(normal_path("a/.git/b").empty());
  CHECK(normal_path("a/__MACOSX/b").empty());
  CHECK(normal_path(std::string(5000, 'a')).empty());
  std::string deep = "f";
  for (int i = 0; i < 100; ++i) deep = "a/" + deep;
  CHECK(normal_path(deep).empty());
}
