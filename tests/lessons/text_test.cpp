// The reader on made-up texts.
#include "tests/lessons/text.hpp"

#include "tests/catch.hpp"

using namespace lockstep::lessons;

namespace {
const std::string fence = "```";
}

TEST_CASE("lesson text: blocks carry their info, their lines and where they stand") {
  const auto blocks = blocks_of("words\n" + fence + "cpp file=engine/a.hpp\nint x;\n\nint y;\n" +
                                fence + "\n" + fence + "\nplain\n" + fence + "\n");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].text == "int x;\n\nint y;\n");
  CHECK(blocks[0].line == 2);
  CHECK(quoted_file(blocks[0]) == "engine/a.hpp");
  CHECK_FALSE(quoted_file(blocks[1]).has_value());
}

TEST_CASE("lesson text: links to files are found, addresses of the web are not") {
  const auto links = links_of("[a](b.md) [c](d.md#part) [e](https://example.org) [f](#here)\n");
  CHECK(links == std::vector<std::string>{"b.md", "d.md"});
  CHECK(links_of("    sort(all, [](const Node& a, const Node& b) { return true; });\n").empty());
}

TEST_CASE("lesson text: paths in code spans are found, patterns are not") {
  const auto paths = paths_of(
      "see `engine/comm/peers.hpp`, `solutions/NN_lesson/part.cpp`, `tests/<room>`, `x`\n");
  CHECK(paths == std::vector<std::string>{"engine/comm/peers.hpp"});
}

TEST_CASE("lesson text: names of tests are the code spans with a colon and a space") {
  CHECK(tests_named_in("`ring: each value arrives`, `comm::Work` and `x`\n") ==
        std::vector<std::string>{"ring: each value arrives"});
}

TEST_CASE("lesson text: commands are the words after the script's name") {
  CHECK(commands_of("`./lab check NAME` and\n./lab train --ranks 2\n`./lab`\n") ==
        std::vector<std::string>{"check", "train"});
}

TEST_CASE("lesson text: a run is a command and the output that follows it") {
  const auto runs = runs_of(fence + "sh run\necho hi\n" + fence + "\nprints\n" + fence +
                            "text\nhi\n" + fence + "\n" + fence + "sh\nls\n" + fence + "\n");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].command == "echo hi\n");
  CHECK(runs[0].expected == "hi\n");
}

TEST_CASE("lesson text: outputs are compared line by line, with holes where … stands") {
  CHECK(output_matches("loss 0.5\n", "loss 0.5\n"));
  CHECK(output_matches("loss …, done\n", "loss 0.5, done\n"));
  CHECK(output_matches("… of …\n", "3 of 4\n"));
  CHECK(output_matches("first\n…\nlast\n", "first\na\nb\nlast\n"));
  CHECK(output_matches("first\n…\nlast\n", "first\nlast\n"));
  CHECK_FALSE(output_matches("loss 0.5\n", "loss 0.6\n"));
  CHECK_FALSE(output_matches("loss …, done\n", "loss 0.5\n"));
  CHECK_FALSE(output_matches("first\n…\nlast\n", "first\na\nb\n"));
  CHECK_FALSE(output_matches("one\n", "one\ntwo\n"));
}
