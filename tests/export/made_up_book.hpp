// A class of four in which everything happens that pages and exports tell, with texts as strangers
// write them.
#pragma once

#include "grader/export/class_book.hpp"

namespace lockstep::test {

inline const std::string nasty = "</script><script>alert(1)</script> & \"x\" | _y_ `z` =1+1 'q'";

inline nlohmann::json made_up_row(const std::string& exercise, const std::string& verdict,
                                  int points, int judged) {
  nlohmann::json row = {
      {"exercise", exercise},    {"verdict", verdict}, {"points", points}, {"max_points", 20},
      {"judged_points", judged}, {"cause", ""},        {"reason", ""},     {"note", ""},
      {"comment", ""},           {"days_late", 0},     {"by_hand", false}};
  return row;
}

inline grader::ClassBook made_up_book() {
  using nlohmann::json;
  const std::string ring = "06_all_reduce/ring", mean = "05_data_parallel/mean",
                    quiz = "05_data_parallel/quiz";
  const auto student = [](const std::string& name, int points, json rows) {
    return json{{"student", name},
                {"points", points},
                {"max_points", 60},
                {"on_roster", true},
                {"about", {{"name", "N. " + name}, {"login", name + "@x"}, {"id", "7"}}},
                {"reason", ""},
                {"comment", ""},
                {"rows", std::move(rows)}};
  };
  json failed = made_up_row(ring, "wrong answer", 0, 0);
  failed["cause"] = "times_n";
  json late = made_up_row(mean, "pass", 16, 20);
  late["note"] = "2 days late: 20 % lost";
  late["days_late"] = 2;
  json by_hand = made_up_row(quiz, "wrong answer", 12, 3);
  by_hand["by_hand"] = true;
  by_hand["note"] = "set by hand to 12: " + nasty;
  by_hand["comment"] = "well argued";
  json missing = made_up_row(ring, "missing", 0, 0);
  missing["cause"] = "missing";
  missing["reason"] = "there is no ring.cpp";
  const json lost = made_up_row(quiz, "infrastructure", 0, 0);
  json amy = student("amy", 28, json::array({late, by_hand, failed}));
  amy["comment"] = "see me, " + nasty;
  const json bob =
      student("bob", 20, json::array({made_up_row(mean, "pass", 20, 20), lost, missing}));
  json cid = student("cid", 0, json::array());
  cid["reason"] = "the archive is damaged: " + nasty;
  for (const std::string& address : {mean, quiz, ring}) {
    json row = made_up_row(address, "refused", 0, 0);
    row["cause"] = "bad_archive";
    row["reason"] = cid["reason"];
    cid["rows"].push_back(row);
  }
  grader::ClassBook book;
  book.lesson_titles = {{"05_data_parallel", "Data parallelism"}, {"06_all_reduce", "All-reduce"}};
  book.grades = {{"exercises", json::array({{{"exercise", mean}, {"points", 20}},
                                            {{"exercise", quiz}, {"points", 20}},
                                            {{"exercise", ring}, {"points", 20}}})},
                 {"columns", json::array({"name", "login", "id"})},
                 {"students", json::array({amy, bob, cid})}};
  book.reports = {amy, bob, cid};
  for (json& row : book.reports[0]["rows"]) row["sha256"] = "0";
  book.reports[0]["rows"][2]["checks"] =
      json::array({{{"name", "the first"}, {"verdict", "pass"}, {"message", ""}},
                   {{"name", "the sum"},
                    {"verdict", "wrong answer"},
                    {"message", "rank 1 has 4 times the sum; it says " + nasty},
                    {"where", "case 3: 4 ranks"},
                    {"expected", "the reference's 10"},
                    {"replay", "./lab check ring --seed 7 --case 3"}},
                   {{"name", "the traffic"}, {"verdict", "wrong answer"}, {"message", "x"}}});
  return book;
}

}  // namespace lockstep::test
