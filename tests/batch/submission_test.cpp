#include "grader/batch/hand_ins/submission.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/batch/made_archive.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using test::write_archive;
namespace fs = std::filesystem;

namespace {

const Course& course() {
  static const Course all = read_course(fs::path(LOCKSTEP_ROOT) / "exercises" / "course.toml");
  return all;
}
const Exercise& ring() { return exercise_named(course(), "ring_all_reduce"); }

struct ClassOfFiles {
  fs::path of(const std::string& name) const { return scratch.path() / name; }
  fs::path file(const std::string& student) const { return of(student) / ring().file(); }
  TakenIn take(const std::string& naming = "", const Roster& roster = {}) const {
    return take_in(scratch.path(), {&ring()}, roster, naming);
  }
  std::vector<Submission> read() const { return take().submissions; }
  const Answer& only(const std::vector<Submission>& all) const {
    REQUIRE(all.size() == 1);
    return all.front().answers.at(ring().address());
  }
  test::Scratch scratch;
};

}  // namespace

TEST_CASE("submissions: a folder is read at its root or below work/") {
  ClassOfFiles a_class;
  write_text(a_class.file("amy"), "one");
  write_text(a_class.of("bob") / "work" / ring().file(), "two");
  const auto all = a_class.read();
  REQUIRE(all.size() == 2);
  CHECK(all[0].student == "amy");
  CHECK(all[0].answers.at(ring().address()).content == "one");
  CHECK(all[1].answers.at(ring().address()).content == "two");
}

TEST_CASE("submissions: a class takes little more memory than its files") {
  ClassOfFiles a_class;
  const auto most_kib = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  for (int i = 0; i < 200; ++i) {
    write_text(a_class.file("student" + std::to_string(i)), std::string(5000, 'x'));
  }
  const long before = most_kib();
  const auto all = a_class.read();
  CHECK(all.size() == 200);
  CHECK(most_kib() - before < 30'000);  // 1 MB of files; a file may have 1 MiB
}

TEST_CASE("submissions: an archive is read, however much the grader holds already") {
  ClassOfFiles a_class;
  write_archive(a_class.of("amy.zip"), {{"work/" + ring().file(), "mine"}});
  constexpr std::size_t much = std::size_t{6} << 30;
  void* const held = ::mmap(nullptr, much, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(held != MAP_FAILED);
  CHECK(a_class.only(a_class.read()).content == "mine");
  ::munmap(held, much);
}

TEST_CASE("submissions: links, pipes, devices and huge files are refused with their reason") {
  ClassOfFiles a_class;
  const fs::path file = a_class.file("amy");
  fs::create_directories(file.parent_path());
  SECTION("a symbolic link to a secret") {
    fs::create_symlink("/etc/passwd", file);
    CHECK(a_class.only(a_class.read()).cause == "symbolic_link");
  }
  SECTION("a folder on the way that is a link") {
    fs::remove(file.parent_path());
    fs::create_directory_symlink(fs::path(LOCKSTEP_ROOT) / "solutions" / "06_all_reduce",
                                 file.parent_path());
    CHECK(a_class.only(a_class.read()).cause == "symbolic_link");
  }
  SECTION("a pipe, at which a reader would wait for ever") {
    REQUIRE(::mkfifo(file.c_str(), 0644) == 0);
    CHECK(a_class.only(a_class.read()).cause == "not_a_file");
  }
  SECTION("a folder") {
    fs::create_directory(file);
    CHECK(a_class.only(a_class.read()).cause == "not_a_file");
  }
  SECTION("a file of two terabytes with nothing in it") {
    write_text(file, "");
    fs::resize_file(file, std::uintmax_t{2} << 40);
    CHECK(a_class.only(a_class.read()).cause == "too_large");
  }
}

TEST_CASE("submissions: an entry that is no submission has a row with its reason") {
  ClassOfFiles a_class;
  write_text(a_class.of("notes.txt"), "x");
  fs::create_symlink("/etc", a_class.of("zed"));
  REQUIRE(::mkfifo(a_class.of("pipe.zip").c_str(), 0644) == 0);
  write_text(a_class.of("torn.zip"), "PK\x03\x04 no more");
  for (const Submission& submission : a_class.read()) {
    INFO(submission.student);
    CHECK_FALSE(submission.cause.empty());
    CHECK_FALSE(submission.reason.empty());
  }
  CHECK(a_class.read().size() == 4);
}

TEST_CASE("submissions: an archive is read without being unpacked") {
  ClassOfFiles a_class;
  const std::string path = ring().file();
  SECTION("at its root, below folders of its own, with others") {
    write_archive(a_class.of("amy.zip"), {{"amy/work/" + path, "mine"}, {"submission.json", "{}"}});
    CHECK(a_class.only(a_class.read()).content == "mine");
  }
  SECTION("a member that climbs out is nobody's file") {
    write_archive(a_class.of("amy.zip"), {{"../../" + path, "mine"}, {"/" + path + "/..", "x"}});
    const auto all = a_class.read();
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "empty");
  }
  SECTION("two members of one name") {
    write_archive(a_class.of("amy.zip"), {{path, "one"}, {path, "two"}});
    CHECK(a_class.only(a_class.read()).cause == "twice");
  }
  SECTION("a link") {
    write_archive(a_class.of("amy.zip"), {{path, "", AE_IFLNK, "/etc/passwd"}});
    CHECK(a_class.only(a_class.read()).cause == "symbolic_link");
  }
  SECTION("a member that is too large") {
    write_archive(a_class.of("amy.zip"), {{path, std::string(3 << 20, ' ')}});
    CHECK(a_class.only(a_class.read()).cause == "too_large");
  }
  SECTION("a bomb: a small archive of much") {
    write_archive(a_class.of("amy.zip"), {{"zeros", std::string(65 << 20, '\0')}, {path, "mine"}});
    const auto all = a_class.read();
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "bomb");
  }
  SECTION("a folder and an archive of one name") {
    write_archive(a_class.of("amy.zip"), {{path, "one"}});
    write_text(a_class.file("amy"), "two");
    const auto all = a_class.read();
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "twice");
  }
}

TEST_CASE("submissions: a roster brings those who handed in nothing, and marks strangers") {
  ClassOfFiles a_class;
  write_text(a_class.file("amy"), "one");
  write_text(a_class.file("eve"), "two");
  const auto all =
      a_class.take("", read_roster("student,name\namy,Amy\n\"bob\",Bob\r\n")).submissions;
  REQUIRE(all.size() == 3);
  CHECK(all[0].on_roster);
  CHECK(all[0].about == std::vector<std::string>{"Amy"});
  CHECK(all[1].student == "bob");
  CHECK(all[1].cause == "missing");
  CHECK(all[1].about == std::vector<std::string>{"Bob"});
  CHECK_FALSE(all[2].on_roster);
  CHECK(all[2].about == std::vector<std::string>{""});
}

TEST_CASE("submissions: the last of a student's numbered attempts counts, and others are told") {
  ClassOfFiles a_class;
  const auto hand_in = [&](const std::string& name, const std::string& content) {
    write_archive(a_class.of(name), {{ring().file(), content}});
  };
  hand_in("doejohn_12_34_submission.zip", "first");
  SECTION("uploaded again") {
    hand_in("doejohn_LATE_12_99_submission-10.zip", "third");
    hand_in("doejohn_12_56_submission-9.zip", "second");
    const TakenIn taken = a_class.take("canvas");
    CHECK(a_class.only(taken.submissions).content == "third");
    CHECK(taken.superseded == std::vector<std::string>{"doejohn_12_34_submission.zip",
                                                       "doejohn_12_56_submission-9.zip"});
  }
  SECTION("beside a file that is no archive") {
    write_text(a_class.of("doejohn_12_57_notes.pdf"), "x");
    const TakenIn taken = a_class.take("canvas");
    CHECK(a_class.only(taken.submissions).content == "first");
    CHECK(taken.superseded == std::vector<std::string>{"doejohn_12_57_notes.pdf"});
  }
  SECTION("another upload, of which none can be said to be the last") {
    hand_in("doejohn_12_56_mine.zip", "second");
    const auto all = a_class.take("canvas").submissions;
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "twice");
    CHECK_THAT(all.front().reason, test::contains("doejohn_12_56_mine.zip"));
  }
  SECTION("another student of the same name") {
    hand_in("doejohn_13_56_submission-1.zip", "second");
    CHECK(a_class.take("canvas").submissions.front().cause == "twice");
    CHECK(a_class.take("canvas-id").submissions.size() == 2);
  }
}

TEST_CASE("submissions: a group's hand-in is each member's") {
  ClassOfFiles a_class;
  write_text(a_class.file("submission_7"), "ours");
  write_text(a_class.of("submission_metadata.yml"),
             "submission_7:\n  :submitters:\n  - :name: Amy\n    :sid: '11'\n"
             "  - :name: Bob\n    :sid: '12'\n");
  const auto all = a_class.take("gradescope").submissions;
  REQUIRE(all.size() == 2);
  for (const Submission& one : all) CHECK(one.answers.at(ring().address()).content == "ours");
  CHECK(all[0].student == "11");
  CHECK(all[1].student == "12");
}

TEST_CASE("submissions: hidden entries and names that the pattern does not match are told") {
  ClassOfFiles a_class;
  write_text(a_class.file(".hidden"), "one");
  write_text(a_class.file("hw1-amy"), "two");
  write_text(a_class.file("bob"), "three");
  const TakenIn taken = a_class.take("^hw1-(.+)$");
  REQUIRE(taken.submissions.size() == 2);
  CHECK(taken.submissions[0].student == "amy");
  CHECK(taken.submissions[1].student == "bob");
  CHECK(taken.hidden == std::vector<std::string>{".hidden"});
  CHECK(taken.unmatched == std::vector<std::string>{"bob"});
}

TEST_CASE("submissions: a hand-in is the student's whose name the roster writes otherwise") {
  ClassOfFiles a_class;
  write_text(a_class.file("Zoe\u0308 Nun\u0303ez"), "decomposed, as a Mac unpacks it");
  write_text(a_class.file("anna"), "in small letters");
  write_text(a_class.file("Zoe"), "without the accent");
  const Roster roster = read_roster("student\nZoë Núñez\nZoë Nuñez\nAnna\nZoë\n");
  const TakenIn taken = a_class.take("", roster);
  std::map<std::string, std::string> causes;
  for (const Submission& one : taken.submissions) causes[one.student] = one.cause;
  CHECK(causes == std::map<std::string, std::string>{{"Zoë Nuñez", ""},
                                                     {"Zoë Núñez", "missing"},
                                                     {"Anna", ""},
                                                     {"Zoe", ""},
                                                     {"Zoë", "missing"}});
  CHECK(taken.alike.perhaps.at("Zoe") == "Zoë");
  for (const Submission& one : taken.submissions) {
    if (one.student == "Zoë") CHECK_THAT(one.reason, test::contains("under a similar one"));
  }
}

TEST_CASE("submissions: two hand-ins that are one student's by the roster are told, not chosen") {
  ClassOfFiles a_class;
  write_text(a_class.file("anna"), "one");
  write_text(a_class.file("ANNA"), "two");
  const auto all = a_class.take("", read_roster("student\nAnna\n")).submissions;
  REQUIRE(all.size() == 1);
  CHECK(all.front().student == "Anna");
  CHECK(all.front().cause == "twice");
}
