#include "grader/batch/processes/progress_line.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("progress: in a file a line every thirty seconds, with the time left") {
  ProgressLine progress(Watcher::file);
  CHECK_FALSE(progress.after(1, 100, 10, "x"));
  CHECK(progress.after(10, 100, 31, "x") == "10 of 100 files judged, about 5 min left\n");
  CHECK_FALSE(progress.after(11, 100, 60, "x"));
  CHECK(progress.after(50, 100, 61.5, "x") == "50 of 100 files judged, about 62 s left\n");
  CHECK_FALSE(progress.after(100, 100, 200, "x"));
  ProgressLine slow(Watcher::file);
  CHECK(slow.after(1, 1000, 36, "x") == "1 of 1000 files judged, about 10 h left\n");
}

TEST_CASE("progress: on a terminal one line that is written again and cleared at last") {
  ProgressLine progress(Watcher::terminal);
  CHECK(progress.after(1, 3, 0.5, "ring  pass") == "\r\033[K1 of 3  ring  pass");
  CHECK(progress.after(2, 3, 60, "ring  pass") == "\r\033[K2 of 3, about 30 s left  ring  pass");
  CHECK_THAT(progress.after(3, 3, 61, "x").value(), test::contains("\r\033[K3 of 3"));
  CHECK(progress.after(3, 3, 61, "x").value().ends_with("\r\033[K"));
}
