// ./lab submit: what is handed in, and that the same work gives the same bytes.
#include "grader/further/submit.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Tree;
namespace fs = std::filesystem;

TEST_CASE("lab submit: holds the course's files as they are, and nothing of the student besides") {
  const Tree tree;
  tree.lab({"begin"});
  tree.solve("03_collectives/exchange.cpp");
  tree.lab({"check", "exchange"});
  tree.solve("03_collectives/broadcast.cpp");
  tree.lab({"reset", "broadcast", "--yes"});
  write_text(tree.root() / "work/diary.txt", "private");
  fs::remove(tree.root() / "work/03_collectives/scatter.cpp");
  Lab lab;
  lab.places.root = tree.root();
  lab.course = read_course(lab.places.manifest());
  const auto rows = rows_of(lab, read_progress(lab.places.progress()));
  const auto members = submission_of(lab, rows);
  CHECK(members.size() == lab.course.exercises.size());  // with submission.json, without scatter
  CHECK(members.front().path == "submission.json");
  for (std::size_t i = 1; i < members.size(); ++i) {
    CHECK(members[i].content == read_text(tree.root() / "work" / members[i].path));
    CHECK((i == 1 || members[i - 1].path < members[i].path));
  }
  const auto about = nlohmann::json::parse(members.front().content);
  CHECK(about.at("format") == 1);
  CHECK(about.at("course").get<std::string>().size() == 64);
  for (const auto& file : about.at("files")) {
    const bool solved = file.at("path") == "03_collectives/exchange.cpp";
    CHECK((file.at("state") == "solved") == solved);
    CHECK(file.at("sha256").get<std::string>().size() == 64);
  }
}

TEST_CASE("lab submit: the same work gives the same bytes, whenever and wherever it is packed") {
  const Tree tree;
  tree.lab({"begin"});
  const auto first = tree.lab({"submit"});
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output, contains("files: " + test::of_all(0)) && contains("not judged"));
  const std::string bytes = read_text(tree.root() / "submission.zip");
  CHECK_THAT(bytes, contains("06_all_reduce/ring_all_reduce.cpp"));
  const fs::path file = tree.root() / "work/06_all_reduce/ring_all_reduce.cpp";
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(100));
  const auto again = grader::run_command({"env", "TZ=Asia/Kathmandu", LOCKSTEP_TOOL, "--root",
                                          tree.root().string(), "submit", "--out", "again.zip"},
                                         tree.root(), test::patient);
  CHECK(again.exit_code == 0);
  CHECK(read_text(tree.root() / "again.zip") == bytes);
  const auto document =
      nlohmann::json::parse(tree.lab({"submit", "--json", "--out", "third.zip"}).output);
  CHECK(document.at("archive") == (tree.root() / "third.zip").string());
}

TEST_CASE("lab submit: nothing to hand in, or nowhere to write it, is wrong usage") {
  const Tree tree;
  CHECK(tree.lab({"submit"}).exit_code == 2);
  tree.lab({"begin"});
  const auto nowhere = tree.lab({"submit", "--out", "no/such/folder/s.zip"});
  CHECK(nowhere.exit_code == 2);
  CHECK_THAT(nowhere.output, contains("--out: the folder no/such/folder does not exist"));
}
