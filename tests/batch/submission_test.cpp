#include "grader/batch/submission.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
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
  std::vector<Submission> read(const std::vector<std::string>& roster = {}) const {
    return take_in(scratch.path(), {&ring()}, roster);
  }
  const Answer& only(const std::vector<Submission>& all) const {
    REQUIRE(all.size() == 1);
    return all.front().answers.at(ring().address());
  }
  test::Scratch scratch;
};

struct Member {
  std::string name, content;
  int type = AE_IFREG;
  std::string link = {};
};

void write_zip(const fs::path& file, const std::vector<Member>& members) {
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  REQUIRE(archive_write_open_filename(writer, file.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned>(member.type));
    archive_entry_set_perm(entry, 0644);
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    REQUIRE(archive_write_header(writer, entry) == ARCHIVE_OK);
    archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

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
    write_zip(a_class.of("amy.zip"), {{"amy/work/" + path, "mine"}, {"submission.json", "{}"}});
    CHECK(a_class.only(a_class.read()).content == "mine");
  }
  SECTION("a member that climbs out is nobody's file") {
    write_zip(a_class.of("amy.zip"), {{"../../" + path, "mine"}, {"/" + path + "/..", "x"}});
    CHECK(a_class.only(a_class.read()).state == Answer::State::missing);
  }
  SECTION("two members of one name") {
    write_zip(a_class.of("amy.zip"), {{path, "one"}, {path, "two"}});
    CHECK(a_class.only(a_class.read()).cause == "twice");
  }
  SECTION("a link") {
    write_zip(a_class.of("amy.zip"), {{path, "", AE_IFLNK, "/etc/passwd"}});
    CHECK(a_class.only(a_class.read()).cause == "symbolic_link");
  }
  SECTION("a member that is too large") {
    write_zip(a_class.of("amy.zip"), {{path, std::string(3 << 20, ' ')}});
    CHECK(a_class.only(a_class.read()).cause == "too_large");
  }
  SECTION("a bomb: a small archive of much") {
    write_zip(a_class.of("amy.zip"), {{"zeros", std::string(65 << 20, '\0')}, {path, "mine"}});
    const auto all = a_class.read();
    REQUIRE(all.size() == 1);
    CHECK(all.front().cause == "bomb");
  }
  SECTION("a folder and an archive of one name") {
    write_zip(a_class.of("amy.zip"), {{path, "one"}});
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
  write_text(a_class.of(".roster"), "student,name\namy,Amy\n\"bob\",Bob\r\n");
  const auto all = a_class.read(read_roster(a_class.of(".roster")));
  REQUIRE(all.size() == 3);
  CHECK(all[0].on_roster);
  CHECK(all[1].student == "bob");
  CHECK(all[1].cause == "missing");
  CHECK_FALSE(all[2].on_roster);
}

TEST_CASE("submissions: a name is safe to write anywhere, and different names stay different") {
  CHECK(readable_name("amy_01") == "amy_01");
  CHECK(readable_name("Zoë") == "Zoë");
  CHECK(readable_name("=1+1") == "%3D1+1");
  CHECK(readable_name("-rf") == "%2Drf");
  CHECK(readable_name("..") == "%2E.");
  CHECK(readable_name("a\nb") == "a%0Ab");
  CHECK(readable_name("a\"b,c") == "a%22b%2Cc");
  CHECK(readable_name("\xff") == "%FF");
  CHECK(readable_name("100%41") == "100%2541");
  CHECK(readable_name("\u202etxt") == "%E2%80%AEtxt");
}
