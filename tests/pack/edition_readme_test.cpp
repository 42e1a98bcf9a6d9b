// What the README of the students' edition offers.
#include "grader/pack/edition_readme.hpp"

#include <filesystem>

#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"

using namespace lockstep::grader;
using lockstep::test::contains;

namespace {

const std::set<std::string> refused{"test", "docs"};
bool has_nothing_missing(const std::string& file) {
  return file != "missing.md" && file != "tests/";
}

std::string made_of(const std::string& readme) {
  return readme_of_edition("# Lab\n\n" + readme, refused, has_nothing_missing);
}

}  // namespace

TEST_CASE("edition's README: a refused command goes with its row, its line or its paragraph") {
  CHECK_THAT(made_of("```sh\n./lab start   # begin\n./lab test    # all\n```\n"),
             contains("./lab start") && !contains("./lab test"));
  CHECK_THAT(made_of("| command | does |\n|---|---|\n| `./lab docs` | a site |\n"
                     "| `./lab run` | starts |\n"),
             contains("| `./lab run` | starts |") && !contains("site"));
  CHECK_THAT(made_of("1. Type\n   `./lab test`.\n2. Read.\n"),
             contains("2. Read.") && !contains("1."));
  CHECK_THAT(made_of("One line, and `./lab docs`\nanother.\n\nThe next.\n"),
             contains("The next.") && !contains("another"));
  CHECK_THAT(made_of("`./lab train --device cuda --paper` needs code for GPUs.\n"),
             !contains("GPUs"));
}

TEST_CASE("edition's README: what points to a missing file goes, and so does an empty section") {
  CHECK_THAT(
      made_of("Read [this](missing.md#part).\n\nAnd [that](there.md#part), [it](https://a.b).\n"),
      !contains("Read") && contains("And [that]"));
  CHECK_THAT(made_of("| folder | holds |\n|---|---|\n| `tests/` | tests |\n| `work/` | yours |\n"),
             !contains("tests") && contains("yours"));
  CHECK_THAT(
      made_of("## All gone\n\n| a | b |\n|---|---|\n| `./lab test` | c |\n\n## Next\n\nText.\n"),
      !contains("All gone") && !contains("|") && contains("## Next\n\nText."));
  CHECK_THAT(made_of("Text.\n\n## Gone, too\n\n`./lab docs`\n"), !contains("Gone"));
}

TEST_CASE("edition's README: the lab's own types no command that setup/edition.sh refuses") {
  const std::filesystem::path root = LOCKSTEP_ROOT;
  const auto all_refused = refused_commands(read_text(root / "setup/edition.sh"));
  CHECK(all_refused.contains("grade"));
  const std::string readme =
      readme_of_edition(read_text(root / "README.md"), all_refused, [&](const std::string& file) {
        return file != "solutions/" && file != "tests/" && std::filesystem::exists(root / file);
      });
  for (const std::string& command : all_refused) {
    INFO(command);
    CHECK_THAT(readme, !contains("./lab " + command + " ") && !contains("./lab " + command + "`"));
  }
  CHECK_THAT(readme, contains("students' edition") && contains("./lab start") &&
                         contains("./lab check NAME") && contains("./lab compare NAME") &&
                         !contains("solutions/"));
}
