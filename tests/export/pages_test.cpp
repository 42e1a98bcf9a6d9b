#include "grader/export/gradebook.hpp"
#include "grader/export/overview_page.hpp"
#include "grader/export/student_page.hpp"
#include "tests/catch.hpp"
#include "tests/export/made_up_book.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

// What could fetch something, run, or leave the place of a text.
void check_harmless(const std::string& page) {
  for (const char* part : {"<script", "http:", "https:", "src=", "url(", "@import", "onerror"}) {
    INFO(part);
    CHECK_THAT(page, !test::contains(part));
  }
  CHECK_THAT(page, test::contains("default-src 'none'"));
}

}  // namespace

TEST_CASE("student's page: points, the failing check, its sentence and how to see it again") {
  const ClassBook book = test::made_up_book();
  const std::string page = student_page(book, book.reports[0]);
  for (const char* part :
       {"28 of 60", "46.7 %", "05 Data parallelism", "First failing check:</span> the sum; 1 other",
        "rank 1 has 4 times the sum", "<pre>./lab check ring --seed 7 --case 3</pre>",
        "2 days late: 20 % lost", "well argued", "case 3: 4 ranks"}) {
    CHECK_THAT(page, test::contains(part));
  }
  check_harmless(page);
  for (const char* part : {"bob", "cid", "the reference's 10"}) {
    CHECK_THAT(page, !test::contains(part));
    CHECK_THAT(student_markdown(book, book.reports[0]), !test::contains(part));
  }
}

TEST_CASE("student's page: what the lab failed to judge counts as open, not as 0") {
  const ClassBook book = test::made_up_book();
  const std::string page = student_page(book, book.reports[1]);
  CHECK_THAT(page, test::contains("<td class=\"number\">? of 20</td><td class=\"open\">"));
  CHECK_THAT(page, test::contains("quiz: no points yet, since the lab itself failed there"));
  CHECK_THAT(student_markdown(book, book.reports[1]), test::contains("| quiz | ? of 20 |"));
  const std::string all = overview_page(book);
  CHECK_THAT(all, test::contains("title=\"1 not judged yet\""));
  // Of the quiz: amy's 12 and cid's 0 of 20 each.
  CHECK_THAT(all, test::contains("<td class=\"number\">20</td><td class=\"number\">30 %</td>"));
}

TEST_CASE("student's page: what is wrong with a whole hand-in is told once") {
  const ClassBook book = test::made_up_book();
  for (const std::string& page :
       {student_page(book, book.reports[2]), student_markdown(book, book.reports[2])}) {
    const auto first = page.find("the archive is damaged");
    REQUIRE(first != std::string::npos);
    CHECK(page.find("the archive is damaged", first + 1) == std::string::npos);
  }
}

TEST_CASE("student's page: in Markdown a student's text is text") {
  const ClassBook book = test::made_up_book();
  const std::string page = student_markdown(book, book.reports[0]);
  CHECK_THAT(page, test::contains("# amy\n\n**28 of 60 points** (46.7 %)\n"));
  CHECK_THAT(page, test::contains("| ring | 0 of 20 | wrong answer |\n"));
  CHECK_THAT(page, test::contains("      ./lab check ring --seed 7 --case 3\n"));
  CHECK_THAT(page, test::contains("\\| \\_y\\_ \\`z\\`"));
  CHECK_THAT(page, !test::contains("<script"));
}

TEST_CASE("overview: the class's progress, the commonest causes and every student") {
  const ClassBook book = test::made_up_book();
  const std::string page = overview_page(book);
  for (const char* part : {"<dd>3</dd>", "06 All-reduce", "<code>times_n</code>", "the sum",
                           "students/amy.html", "1 late, 1 by hand", "1 not judged"}) {
    CHECK_THAT(page, test::contains(part));
  }
  check_harmless(page);
}

TEST_CASE("gradebook: a column an exercise and a lesson, all points and percent") {
  const std::string table = gradebook_csv(test::made_up_book());
  CHECK_THAT(table, test::contains("student,name,login,id,05_data_parallel/mean,"
                                   "05_data_parallel/quiz,06_all_reduce/ring,"
                                   "lesson 05_data_parallel,lesson 06_all_reduce,points,max_points,"
                                   "percent\namy,N. amy,amy@x,7,16,12,0,28,0,28,60,46.7\n"));
  // What the lab failed to judge is no 0, and neither are the sums over it.
  CHECK_THAT(table, test::contains("\nbob,N. bob,bob@x,7,20,,0,,0,,60,\n"));
}

// instructure/canvas-lms, lib/gradebook_importer.rb at 00b222d, looked at on 2026-11-24: the first
// line has "Student" and "ID" in its first two cells, "SIS User ID" and "SIS Login ID" may follow,
// then "Section"; the second is recognised by "Points Possible" in its first cell; a student is
// found by the ID, the SIS ID, the login or the name.
TEST_CASE("gradebook: for Canvas its own columns and the line of possible points come first") {
  const std::string table = canvas_csv(test::made_up_book());
  CHECK_THAT(table,
             test::contains("Student,ID,SIS User ID,SIS Login ID,Section,"
                            "05_data_parallel/mean,05_data_parallel/quiz,06_all_reduce/ring\n"
                            "    Points Possible,,,,,20,20,20\n"
                            "N. amy,7,,amy@x,,16,12,0\nN. bob,7,,bob@x,,20,,0\n"));
}

TEST_CASE("files: a long name is cut, and two of them stay apart") {
  const std::string one(300, 'x');
  CHECK(file_stem(one).size() < 200);
  CHECK(file_stem(one) != file_stem(one + "y"));
  CHECK(file_stem("amy") == "amy");
}
