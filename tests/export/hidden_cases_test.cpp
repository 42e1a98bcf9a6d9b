// What a platform shows a student at once tells nothing of the cases by which others are judged.
#include "grader/export/hidden_cases.hpp"

#include <array>

#include "tests/catch.hpp"
#include "tests/export/made_up_book.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

constexpr std::array platforms{"gradescope", "autolab", "prairielearn", "junit"};

// A part that is wrong in one check, with all that a report tells of it.
ClassBook book_of(const std::string& message, const std::string& expected) {
  ClassBook book = test::made_up_book();
  json& row = book.reports[0]["rows"][2];
  row["message"] = message;
  row["checks"] = json::array({{{"name", "the sum"},
                                {"verdict", "wrong answer"},
                                {"message", message},
                                {"where", "case 54: 13 ranks, 7919 elements"},
                                {"expected", expected},
                                {"seen", "24.5"},
                                {"replay", "./lab check ring --seed 5695163211189460 --case 54"}}});
  return book;
}

std::string written(const ClassBook& book, const std::string& format) {
  for (const BookFile& file : files_of(book, format)) {
    if (file.path.stem() == "amy") return file.content;
  }
  return "";
}

}  // namespace

TEST_CASE("platforms: no seed, no case and no expected value is shown unless that is asked for") {
  ClassBook book = book_of(
      "rank 2 has 24.5 where 6.125 was expected; likely cause: it is summed twice", "6.125");
  for (const std::string format : platforms) {
    const std::string content = written(book, format);
    INFO(format << "\n" << content);
    for (const char* hidden :
         {"--seed", "5695163211189460", "--case", "case 54", "7919", "6.125"}) {
      CHECK_THAT(content, !test::contains(hidden));
    }
    CHECK_THAT(content, test::contains("likely cause: it is summed twice") &&
                            test::contains("rank 2 has 24.5 where … was expected") &&
                            test::contains("with other cases: ./lab check ring"));
  }
  book.cases = Cases::shown;
  for (const std::string format : platforms) {
    INFO(format);
    CHECK_THAT(written(book, format),
               test::contains("--seed 5695163211189460 --case 54") && test::contains("6.125"));
  }
}

TEST_CASE("platforms: the pages, which a teacher hands out, tell the cases") {
  const ClassBook book = book_of("rank 2 has 24.5 where 6.125 was expected", "6.125");
  for (const BookFile& file : files_of(book, "html")) {
    if (file.path.stem() != "amy") continue;
    CHECK_THAT(file.content, test::contains("--seed 5695163211189460 --case 54"));
  }
}

TEST_CASE("hidden cases: a sentence loses the numbers that were expected, and no other") {
  const auto sentence = [](const std::string& message, const std::string& expected) {
    const json report = without_cases(book_of(message, expected).reports[0]);
    const json& row = report.at("rows").at(2);
    CHECK(row.at("message") == row.at("checks").at(0).at("message"));
    return row.at("message").get<std::string>();
  };
  CHECK(sentence("it is 1.5e-07, not 2.5e-07", "2.5e-07") == "it is 1.5e-07, not …");
  CHECK(sentence("element 16 is 6", "6") == "element 16 is …");
  CHECK(sentence("the list ends with 7, 9 and 11", "3, 7, 11") == "the list ends with …, 9 and …");
  CHECK(sentence("it returned 'b' for 'a b'", "a b") == "it returned 'b' for '…'");
  CHECK(sentence("no rank sent anything", "") == "no rank sent anything");
}
