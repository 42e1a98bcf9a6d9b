// What platforms read, held against what they document. Their own examples, with other words in
// them, are read by the same schemas; each schema names its page and the day.
#include "grader/export/platforms.hpp"

#include <fstream>
#include <sstream>

#include "grader/export/junit.hpp"
#include "tests/catch.hpp"
#include "tests/export/made_up_book.hpp"
#include "tests/export/schema.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

std::string text_in(const std::string& name) {
  std::ifstream in(LOCKSTEP_ROOT "/tests/export/" + name);
  std::ostringstream out;
  out << in.rdbuf();
  REQUIRE(!out.str().empty());
  return out.str();
}

json schema_of(const std::string& name) {
  json schema = json::parse(text_in("schemas/" + name + ".json"));
  const std::string where = schema.at("$comment");
  CHECK_THAT(where, test::contains("https://"));
  CHECK_THAT(where, test::contains("looked at on 20"));
  return schema;
}

std::vector<std::string> lines_in(const std::string& content) {
  std::vector<std::string> lines;
  std::istringstream in(content);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

using Complaints = std::vector<std::string>;

}  // namespace

TEST_CASE("schemas: a document that is not as documented is complained of") {
  const json schema = schema_of("gradescope");
  CHECK_FALSE(test::complaints_of({{"points", 3}}, schema).empty());
  CHECK_FALSE(test::complaints_of({{"score", "3"}}, schema).empty());
  CHECK_FALSE(test::complaints_of({{"visibility", "never"}}, schema).empty());
  CHECK_FALSE(test::complaints_of({{"tests", {{{"max", 3}}}}}, schema).empty());
  CHECK_FALSE(test::complaints_of({{"score", 1.5}}, schema_of("prairielearn")).empty());
  CHECK_FALSE(test::complaints_of(json::object(), schema_of("autolab")).empty());
  CHECK_THROWS(test::read_xml("<a><b></a></b>"));
  CHECK_THROWS(test::read_xml("<a>x & y</a>"));
  CHECK_FALSE(test::complaints_of_xml(test::read_xml("<testsuites><testcase/></testsuites>"),
                                      schema_of("junit"))
                  .empty());
  CHECK(test::complaints_of_xml(test::read_xml("<testcase name=\"a\"/>"), schema_of("junit")) ==
        Complaints{"testcase lacks the attribute classname"});
}

TEST_CASE("gradescope: each results.json has the documented fields and the points add up") {
  const json schema = schema_of("gradescope");
  CHECK(test::complaints_of(json::parse(text_in("examples/gradescope.json")), schema) ==
        Complaints{});
  for (const json& report : test::made_up_book().reports) {
    const json written = json::parse(gradescope_json(report));
    CHECK(test::complaints_of(written, schema) == Complaints{});
    double sum = 0;
    for (const json& one : written.at("tests")) sum += one.value("score", 0.0);
    CHECK(sum == written.at("score").get<double>());
  }
  const json amy = json::parse(gradescope_json(test::made_up_book().reports[0]));
  CHECK(amy.at("tests").at(2).at("status") == "failed");
  CHECK_THAT(amy.at("tests").at(2).at("output").get<std::string>(),
             test::contains("to see it again: ./lab check ring --seed 7 --case 3"));
}

TEST_CASE("platforms: what the lab failed to judge has no score, and the texts say why") {
  const auto book = test::made_up_book();
  const json& bob = book.reports[1];
  const std::string why = "05_data_parallel/quiz: no points yet, since the lab itself failed there";
  const json of_gradescope = json::parse(gradescope_json(bob));
  const json& lost = of_gradescope.at("tests").at(1);
  for (const char* key : {"score", "max_score", "status"}) CHECK_FALSE(lost.contains(key));
  CHECK_THAT(lost.at("output").get<std::string>(), test::contains("The lab itself failed here"));
  CHECK_THAT(of_gradescope.at("output").get<std::string>(), test::contains(why));
  const auto of_autolab = lines_in(autolab_output(bob));
  CHECK(json::parse(of_autolab.back()).at("scores") == json{{"mean", 20}, {"ring", 0}});
  CHECK_THAT(autolab_output(bob), test::contains(why));
  const json of_prairielearn = json::parse(prairielearn_json(bob));
  CHECK(of_prairielearn.at("score") == 20.0 / 40.0);
  CHECK_FALSE(of_prairielearn.at("tests").at(1).contains("points"));
  CHECK_THAT(of_prairielearn.at("message").get<std::string>(), test::contains(why));

  SECTION("if nothing else was handed in, nothing can be graded") {
    json alone = bob;
    alone["points"] = 0;
    alone["rows"].erase(0);
    const json refused = json::parse(prairielearn_json(alone));
    CHECK(refused.at("gradable") == false);
    CHECK(refused.at("format_errors").at(0) == why);
  }
  SECTION("points by hand are points") {
    json decided = bob;
    decided["rows"][1]["by_hand"] = true;
    decided["rows"][1]["points"] = 7;
    CHECK(json::parse(gradescope_json(decided)).at("tests").at(1).at("score") == 7);
    CHECK(json::parse(lines_in(autolab_output(decided)).back()).at("scores").size() == 3);
  }
}

TEST_CASE("autolab: the last line has the scores, the one before the feedback") {
  const json scores = schema_of("autolab"), feedback = schema_of("autolab_feedback");
  const auto check = [&](const std::string& content) {
    const auto lines = lines_in(content);
    REQUIRE(lines.size() > 2);
    CHECK(test::complaints_of(json::parse(lines.back()), scores) == Complaints{});
    CHECK(test::complaints_of(json::parse(lines[lines.size() - 2]), feedback) == Complaints{});
    return json::parse(lines.back()).at("scores");
  };
  check(text_in("examples/autolab.txt"));
  for (const json& report : test::made_up_book().reports) check(autolab_output(report));
  CHECK(check(autolab_output(test::made_up_book().reports[0])) ==
        json{{"mean", 16}, {"05_data_parallel/quiz", 12}, {"ring", 0}});
}

TEST_CASE("prairielearn: a share of the points, or why nothing can be graded") {
  const json schema = schema_of("prairielearn");
  CHECK(test::complaints_of(json::parse(text_in("examples/prairielearn.json")), schema) ==
        Complaints{});
  const auto book = test::made_up_book();
  for (const json& report : book.reports) {
    CHECK(test::complaints_of(json::parse(prairielearn_json(report)), schema) == Complaints{});
  }
  CHECK(json::parse(prairielearn_json(book.reports[0])).at("score") == 28.0 / 60.0);
  const json refused = json::parse(prairielearn_json(book.reports[2]));
  CHECK(refused.at("gradable") == false);
  CHECK_FALSE(refused.contains("score"));
  CHECK(refused.at("format_errors").at(0) == "the archive is damaged: " + test::nasty);
}

TEST_CASE("junit: the elements that GitLab reads, well formed whatever students write") {
  const json schema = schema_of("junit");
  CHECK(test::complaints_of_xml(test::read_xml(text_in("examples/junit.xml")), schema) ==
        Complaints{});
  const auto book = test::made_up_book();
  for (const json& report : book.reports) {
    CHECK(test::complaints_of_xml(test::read_xml(junit_xml(report)), schema) == Complaints{});
  }
  const json amy = test::read_xml(junit_xml(book.reports[0]));
  const json ring = amy.at("children").at(1).at("children").at(0);
  CHECK(ring.at("attributes").at("classname") == "06_all_reduce");
  CHECK(ring.at("children").at(0).at("name") == "failure");
  CHECK_THAT(ring.at("children").at(0).at("text").get<std::string>(), test::contains(test::nasty));
  const json bob = test::read_xml(junit_xml(book.reports[1]));
  CHECK(bob.at("children").at(0).at("attributes").at("errors") == "1");
  CHECK(bob.at("children").at(1).at("attributes").at("skipped") == "1");
}
