#include "grader/course/patch.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("a patch: replaces, adds and removes lines") {
  const std::string diff =
      "# verdict: wrong answer\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"
      "@@ -4,1 +4,2 @@\n four\n+five\n";
  CHECK(patched("one\ntwo\nthree\nfour\n", diff) == "one\nzwei\nthree\nfour\nfive\n");
}

TEST_CASE("a patch: of equal places the one nearest to the stated line is meant") {
  const std::string text = "a\nx\nb\nx\nc\nx\n";
  CHECK(patched(text, "@@ -4,1 +4,1 @@\n-x\n+y\n") == "a\nx\nb\ny\nc\nx\n");
  CHECK(patched(text, "@@ -6,1 +6,1 @@\n-x\n+y\n") == "a\nx\nb\nx\nc\ny\n");
}

TEST_CASE("a patch: lines that are not there any more are an error that names the hunk") {
  CHECK_THROWS_WITH(patched("one\n", "@@ -1,1 +1,1 @@\n-two\n+zwei\n"),
                    test::contains("@@ -1,1 +1,1 @@"));
  CHECK_THROWS_AS(patched("one\n", "no hunk\n"), UsageError);
}
