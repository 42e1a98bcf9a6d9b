#include "grader/batch/hand_ins/student_name.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

// The student of each entry; "-" where the pattern does not match.
Names students(const std::string& pattern, const Names& entries, const fs::path& folder = "/tmp") {
  Names found;
  for (const HandInName& name : names_by(pattern, folder, entries)) {
    std::string all;
    for (const std::string& student : name.students) all += (all.empty() ? "" : "+") + student;
    found.push_back(all.empty() ? "-" : all);
  }
  return found;
}

}  // namespace

TEST_CASE("student names: as Canvas's download has them") {
  const Names entries{"doe_12345_678_submission.zip",
                      "doejohn_LATE_12345_678_submission-2.tar.gz",
                      "van_dyke_12_34_my_work_v2.zip",
                      "lateuser_12_34_a.zip",
                      "anon_x7Yz_678_a.zip",
                      "LATE_anon_12_678_a.zip",
                      "éloïse_1_2_a.zip",
                      "amy.zip",
                      "amy_12_a.zip",
                      "_12_34_a.zip"};
  CHECK(students("canvas", entries) == Names{"doe", "doejohn", "van_dyke", "lateuser", "anon_x7Yz",
                                             "anon_12", "éloïse", "-", "-", "-"});
  CHECK(students("canvas-id", entries) ==
        Names{"12345", "12345", "12", "12", "x7Yz", "12", "1", "-", "-", "-"});
  const auto names = names_by("canvas", "/tmp", entries);
  CHECK(names[0].attempt == 0);
  CHECK(names[1].attempt == 2);
  CHECK(names[0].upload == names[1].upload);
  CHECK(names[2].upload != names[3].upload);
}

TEST_CASE("student names: as Moodle's download has them") {
  const Names entries{"Ada Lovelace_123456_assignsubmission_file_",
                      "Ada Lovelace_123456_assignsubmission_file_submission.zip",
                      "Müller van der Aa_7_assignsubmission_file",
                      "Ada Lovelace",
                      "Ada_x_assignsubmission_file_",
                      "_assignsubmission_file_"};
  CHECK(students("moodle", entries) ==
        Names{"Ada Lovelace", "Ada Lovelace", "Müller van der Aa", "-", "-", "-"});
  CHECK(students("moodle-id", entries) == Names{"123456", "123456", "7", "-", "-", "-"});
}

TEST_CASE("student names: as Gradescope's export lists them") {
  const std::string metadata =
      "---\n"
      "submission_1:\n"
      "  :submitters:\n"
      "  - :name: Ada Lovelace\n"
      "    :sid: '1815'\n"
      "    :email: ada@example.org\n"
      "  :created_at: 2026-11-22 17:34:00.861687000 Z\n"
      "  :results:\n"
      "    :name: no student\n"
      "    output: |-\n"
      "      :sid: 7\n"
      "submission_2:\n"
      "  :submitters:\n"
      "  - :name: Bob\n"
      "    :sid:\n"
      "    :email: bob@example.org\r\n"
      "  - :name: \"Cy \\\"C\\\" O'Neil\"\n"
      "  - :name: 'Dee ''D'' Dee'\n"
      "submission_3:\n"
      "  :submitters: []\n"
      "submission_4:\n"
      "  :submitters:\n"
      "  - :sid: 999\n"
      "    :email: e@example.org\n";
  const test::Scratch scratch;
  write_text(scratch.path() / "submission_metadata.yml", metadata);
  CHECK(students("gradescope",
                 {"submission_1", "submission_2", "submission_3", "submission_4", "submission_5"},
                 scratch.path()) ==
        Names{"1815", "bob@example.org+Cy \"C\" O'Neil+Dee 'D' Dee", "-", "999", "-"});
  CHECK(is_of_export("gradescope", "submission_metadata.yml"));
  CHECK_FALSE(is_of_export("", "submission_metadata.yml"));
  CHECK_THROWS_WITH(names_by("gradescope", "/nowhere", {"a"}),
                    test::contains("submission_metadata.yml"));
}

TEST_CASE("student names: as GitHub Classroom's clones have them") {
  CHECK(students("github", {"lock-step-amy", "lock-step-bob-x", "lock-step-cid.zip"}) ==
        Names{"amy", "bob-x", "cid"});
  CHECK(students("github", {"hw-amy", "hw-amos", "other"}, "/tmp/hw-submissions/") ==
        Names{"amy", "amos", "-"});
  CHECK(students("github:hw-1", {"hw-1-amy", "hw-2-amy"}) == Names{"amy", "-"});
  CHECK_THROWS_WITH(names_by("github", "/tmp", {"hw-amy"}), test::contains("github:lockstep"));
  CHECK_THROWS_WITH(names_by("github", "/tmp", {"amy", "bob"}), test::contains("github:lockstep"));
}

TEST_CASE("student names: by an expression of one's own") {
  CHECK(students("^hw1-(.+)$", {"hw1-amy.zip", "hw1-bob", "hw2-cid.zip", "hw1-"}) ==
        Names{"amy", "bob", "-", "-"});
  const auto names = names_by("(.+)_(\\d+)_handin", "/tmp", {"a@b.edu_12_handin.zip"});
  REQUIRE(names.size() == 1);
  CHECK(names[0].students == Names{"a@b.edu"});
  CHECK(names[0].attempt == 12);
}

TEST_CASE("student names: what is no pattern is refused, and so is one without an end") {
  for (const std::string pattern : {"canvass", "(", "(a)(b)(c)", "[z-a](.)"}) {
    INFO(pattern);
    CHECK_THROWS_AS(names_by(pattern, "/tmp", {"amy"}), UsageError);
    CHECK_THROWS_WITH(names_by(pattern, "/tmp", {"amy"}),
                      test::contains(pattern) && test::contains("one group"));
  }
  CHECK_THROWS_AS(names_by("(" + std::string(600, 'a') + ")", "/tmp", {"amy"}), UsageError);
}

TEST_CASE("student names: a pattern that is never through is ended") {
  CHECK_THROWS_WITH(names_by("^((?:a+)+)+$", "/tmp", {std::string(200, 'a') + "!"}),
                    test::contains("simpler"));
}
