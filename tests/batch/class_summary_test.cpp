#include "grader/batch/reports/class_summary.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Submission troubled(const std::string& student, const std::string& cause,
                    const std::string& reason) {
  Submission submission;
  submission.student = student;
  submission.cause = cause;
  submission.reason = reason;
  return submission;
}

}  // namespace

TEST_CASE("class summary: each kind of trouble has its line, and who is well has none") {
  TakenIn taken;
  taken.submissions = {troubled("amy", "", ""),
                       troubled("bob", "missing", "nothing was handed in"),
                       troubled("cid", "missing", "nothing was handed in"),
                       troubled("dee", "empty", "no file"),
                       troubled("eve", "nothing_found", "did you mean a?"),
                       troubled("fay", "nothing_found", "did you mean b?"),
                       troubled("gus", "bad_archive", "torn"),
                       troubled("hal", "", "")};
  taken.submissions[0].answers["01_x/a"] = {Answer::State::handed_in, "x", "", ""};
  taken.submissions[0].answers["01_x/b"] = {Answer::State::missing, "", "missing", "no b"};
  taken.submissions[7].answers["01_x/a"] = {Answer::State::refused, "", "twice", "a is twice"};
  taken.submissions[7].on_roster = false;
  taken.hidden = {".hidden"};
  taken.unmatched = {"odd"};
  taken.superseded = {"old.zip"};
  Roster roster;
  roster.notes = {"line 3 of the roster has no student's name"};
  CHECK(class_summary(taken, roster) ==
        "         2 students handed in nothing: bob, cid\n"
        "         1 student handed in an empty folder or archive: dee (no file)\n"
        "         2 students handed in nothing that counts: eve (did you mean a?), fay (did you "
        "mean b?)\n"
        "         1 hand-in is refused, bad_archive: gus (torn)\n"
        "         1 file is refused, twice: hal (a is twice)\n"
        "         not on the roster (do --student-from and --student-column name the same?): hal\n"
        "         ignored, because the name begins with a dot: .hidden\n"
        "         not matched by --student-from, so named after the file: odd\n"
        "         not counted, because another hand-in of the student is: old.zip\n"
        "         line 3 of the roster has no student's name\n");
  CHECK(class_summary({}, {}).empty());
}

TEST_CASE("class summary: two hundred students take a few lines, and one reason is told once") {
  TakenIn taken;
  for (int i = 100; i < 300; ++i) {
    const std::string name = text("s", i);
    taken.submissions.push_back(i % 2 == 0 ? troubled(name, "empty", "no file")
                                           : troubled(name, "nothing_found", text("mean ", i)));
  }
  const std::string summary = class_summary(taken, {});
  CHECK(std::count(summary.begin(), summary.end(), '\n') == 2);
  CHECK(summary.size() < 600);
  CHECK_THAT(summary, test::contains("100 students handed in an empty folder or archive (no file): "
                                     "s100, s102,"));
  CHECK_THAT(summary, test::contains("s101 (mean 101), s103 (mean 103), s105 (mean 105), s107, "));
  CHECK_THAT(summary, test::contains(" and 88 more"));
}
