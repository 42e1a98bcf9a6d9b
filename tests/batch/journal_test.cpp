#include "grader/batch/processes/journal.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

TEST_CASE("journal: what was appended is there when it is opened again") {
  const test::Scratch scratch;
  const auto file = scratch.path() / "journal.jsonl";
  for (int run = 0; run < 3; ++run) {
    Journal journal(file);
    REQUIRE(journal.records().size() == static_cast<std::size_t>(run));
    journal.append({{"record", "result"}, {"run", run}, {"name", "Zoë\n\"x\""}});
  }
  const Journal journal(file);
  REQUIRE(journal.records().size() == 3);
  CHECK(journal.records()[2].at("run") == 2);
  CHECK(journal.records()[2].at("name") == "Zoë\n\"x\"");
}

TEST_CASE("journal: a tail that was torn at any byte is dropped, and what comes next is kept") {
  const test::Scratch scratch;
  const auto file = scratch.path() / "journal.jsonl";
  {
    Journal journal(file);
    journal.append({{"n", 1}});
    journal.append({{"n", 2}});
  }
  const std::string whole = read_text(file);
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t length = first; length < whole.size(); ++length) {
    write_text(file, whole.substr(0, length));
    {
      Journal journal(file);
      REQUIRE(journal.records().size() == 1);
      journal.append({{"n", 3}});
    }
    const Journal again(file);
    REQUIRE(again.records().size() == 2);
    CHECK(again.records()[1].at("n") == 3);
  }
}

TEST_CASE("journal: a line that was changed ends it, whatever follows") {
  const test::Scratch scratch;
  const auto file = scratch.path() / "journal.jsonl";
  {
    Journal journal(file);
    for (int n = 1; n <= 3; ++n) journal.append({{"points", n}});
  }
  std::string content = read_text(file);
  content[content.find("points\":2") + 8] = '9';
  write_text(file, content);
  CHECK(Journal(file).records().size() == 1);
}

TEST_CASE("journal: two processes cannot write one journal") {
  const test::Scratch scratch;
  const Journal journal(scratch.path() / "journal.jsonl");
  CHECK_THROWS_WITH(Journal(scratch.path() / "journal.jsonl"),
                    test::contains("another ./lab grade is at work on " + scratch.path().string()));
}

TEST_CASE("a file that is written whole keeps its old content until the new one is there") {
  const test::Scratch scratch;
  const auto file = scratch.path() / "grades.csv";
  write_whole(file, "old");
  std::filesystem::create_directory(file.string() + ".tmp");  // so that it cannot be written
  CHECK_THROWS_AS(write_whole(file, "new"), Error);
  CHECK(read_text(file) == "old");
}
