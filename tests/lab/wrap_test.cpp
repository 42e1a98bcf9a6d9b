#include "grader/lab/wrap.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("wrap: a long line is broken at spaces, and goes on where its words began") {
  CHECK(wrapped("one two three four\n", 9) == "one two\nthree\nfour\n");
  CHECK(wrapped("  where     4 ranks, 7 elements of rank 2", 28) ==
        "  where     4 ranks, 7\n            elements of rank\n            2");
  CHECK(wrapped("  ok  every value arrives once", 20) == "  ok  every value\n      arrives once");
  CHECK(wrapped("  next      ./lab hint ring_all_reduce\n", 80) ==
        "  next      ./lab hint ring_all_reduce\n");
}

TEST_CASE("wrap: no line is longer than the terminal, unless a word is") {
  const std::string words = "  seen      a word that_is_longer_than_the_terminal and more words\n";
  for (std::size_t columns = 1; columns < 70; ++columns) {
    CAPTURE(columns);
    std::string joined;
    for (const std::string& line : lines_of(wrapped(words, columns))) {
      const bool one_word =
          line.find(' ', line.find_first_not_of(' ')) == std::string::npos || columns < 16;
      CHECK((columns_of(line) <= columns || one_word));
      joined += line;
    }
    for (const char* word : {"seen", "that_is_longer_than_the_terminal", "more", "words"}) {
      CHECK(joined.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("wrap: colours take no columns, and letters of several bytes take one") {
  CHECK(columns_of("\x1b[1mbold\x1b[0m") == 4);
  CHECK(columns_of("⌊D/N⌋ – 2") == 9);
  CHECK(wrapped("\x1b[31mwrong\x1b[0m answer", 12) == "\x1b[31mwrong\x1b[0m answer");
  CHECK(wrapped("\x1b[31mwrong\x1b[0m answer", 11) == "\x1b[31mwrong\x1b[0m\nanswer");
}

TEST_CASE("wrap: source that a compiler quotes stays under its marks") {
  const std::string quoted =
      "   12 |   const int size = peers.nonsense();\n      |                          ^~~~~\n";
  CHECK(wrapped(quoted, 20) == quoted);
  CHECK(wrapped(quoted, 0) == quoted);
}

TEST_CASE("reflow: paragraphs are joined and broken anew, code and lists keep their lines") {
  const std::string task = "# part\n\nOne two\nthree four.\n\n    code  stays as it is, always\n";
  CHECK(reflowed(task, 100) ==
        "# part\n\nOne two three four.\n\n    code  stays as it is, always\n");
  CHECK(reflowed("One two\nthree four.\n", 12) == "One two\nthree four.\n");
  CHECK(reflowed("- a b\n  c d\n- e\n", 40) == "- a b c d\n- e\n");
  CHECK(reflowed(task, 0) == task);
}
