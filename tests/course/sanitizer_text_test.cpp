#include "grader/course/compile/sanitizer_text.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("sanitizer text: a write behind the end is told by the student's line") {
  const auto finding = sanitizer_finding(
      "step 1\n"
      "=================================================================\n"
      "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000034 at pc 0x55\n"
      "WRITE of size 4 at 0x602000000034 thread T0\n"
      "    #0 0x55 in std::vector<float>::operator[] /usr/include/c++/12/bits/stl_vector.h:1123\n"
      "    #1 0x56 in lockstep::ring(int) work/06/ring.cpp:27\n"
      "    #2 0x57 in play /lab/grader/parts/06_all_reduce/ring/player.cpp:9\n"
      "0x602000000034 is located 0 bytes to the right of 20-byte region\n"
      "SUMMARY: AddressSanitizer: heap-buffer-overflow\n",
      "work/06/ring.cpp");
  REQUIRE(finding);
  CHECK(finding->place == "work/06/ring.cpp:27");
  CHECK_THAT(finding->message, test::contains("it writes 4 bytes outside an allocated array"));
  CHECK_THAT(finding->message, test::contains(", at work/06/ring.cpp:27"));
  CHECK_THAT(finding->output, test::contains("step 1\n"));
  CHECK_THAT(finding->output, test::contains("20-byte region"));
  CHECK_THAT(finding->output, !test::contains("grader/parts"));
}

TEST_CASE("sanitizer text: undefined behaviour is told in its own words") {
  const auto finding = sanitizer_finding(
      "work/a.cpp:9:14: runtime error: division by zero\n    #0 0x1 in f work/a.cpp:9\n",
      "work/a.cpp");
  REQUIRE(finding);
  CHECK(finding->message == "division by zero, at work/a.cpp:9");
}

TEST_CASE("sanitizer text: what a rank prints itself is no finding") {
  CHECK_FALSE(sanitizer_finding("runtime error\nAddressSanitizer\n", "work/a.cpp"));
  CHECK_FALSE(sanitizer_finding("", "work/a.cpp"));
}
