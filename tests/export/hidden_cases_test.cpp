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
                            test::contains("rank 2 has … where … was expected") &&
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

TEST_CASE("hidden cases: a sentence loses its numbers, but no name of a rank and no place") {
  const auto sentence = [](const std::string& message, const std::string& expected) {
    const json report = without_cases(book_of(message, expected).reports[0]);
    const json& row = report.at("rows").at(2);
    CHECK(row.at("message") == row.at("checks").at(0).at("message"));
    return row.at("message").get<std::string>();
  };
  CHECK(sentence("step 11 of linear, 1 × 35 samples on 6 ranks: it is -1.5e-07, not 2.5e-07",
                 "2.5e-07") == "step … of linear, … × … samples on … ranks: it is -…, not …");
  CHECK(sentence("rank 7 has 7, as ranks 2, 3 and 7 have, 9 times", "7") ==
        "rank 7 has …, as ranks 2, 3 and 7 have, … times");
  CHECK(
      sentence("float32 and 16-bit numbers below 2^31, N-1 of 1/N, in ring.cpp:31 (4 bytes)", "") ==
      "float32 and 16-bit numbers below 2^31, N-1 of 1/N, in ring.cpp:31 (… bytes)");
  CHECK(sentence("it is 5; likely cause: of 7919 elements, the last 3 are lost", "") ==
        "it is …; likely cause: of … elements, the last 3 are lost");
  CHECK(sentence("it returned 'b' for 'a b'", "a b") == "it returned 'b' for '…'");
  CHECK(sentence("no rank sent anything", "") == "no rank sent anything");
}

TEST_CASE("platforms: a quiz tells how many questions have an answer, and no platform more") {
  ClassBook book = book_of("x", "");
  json& row = book.reports[0]["rows"][0];
  row = {{"exercise", "05_data_parallel/quiz"},
         {"verdict", "wrong answer"},
         {"points", 3},
         {"max_points", 10},
         {"note", ""},
         {"comment", ""},
         {"message", "1 of 3 right, 1 wrong, 1 without an answer"},
         {"checks",
          {{{"name", "shard: who has it"}, {"verdict", "wrong answer"}, {"message", "b is not"}},
           {{"name", "sum: how many"}, {"verdict", "pass"}, {"message", ""}},
           {{"name", "mean: why"}, {"verdict", "unsolved"}, {"message", "no answer yet"}}}}};
  for (const std::string format : platforms) {
    INFO(format);
    const std::string content = written(book, format);
    for (const char* hidden : {"1 of 3 right", "shard", "b is not", "mean: why"}) {
      CHECK_THAT(content, !test::contains(hidden));
    }
  }
  const json gradescope = json::parse(written(book, "gradescope"));
  CHECK(gradescope.at("tests").at(0).at("visibility") == "after_due_date");
  CHECK(gradescope.at("tests").at(1).at("visibility") == "visible");
  CHECK_THAT(gradescope.at("output").get<std::string>(), !test::contains(" of "));
  book.cases = Cases::shown;
  CHECK_THAT(written(book, "gradescope"), test::contains("b is not"));
}
