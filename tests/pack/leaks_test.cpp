// What the search for references finds, and what the course itself tells of them.
#include "grader/pack/leaks.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path root = LOCKSTEP_ROOT;
const fs::path ring = "06_all_reduce/ring_all_reduce.cpp";

const Shingles& shingles() {
  static const Shingles all(root);
  return all;
}

}  // namespace

TEST_CASE("leaks: a text is divided as a compiler divides it") {
  CHECK(tokens_of("a::b<int>(x->y, \"a \\\" b\", 'c') += 1.5e3;") ==
        std::vector<std::string_view>{"a", "::", "b", "<", "int", ">", "(", "x", "->", "y", ",",
                                      "\"a \\\" b\"", ",", "'c'", ")", "+=", "1.5e3", ";"});
  CHECK(tokens_of("the sampler's order") ==
        std::vector<std::string_view>{"the", "sampler", "'", "s", "order"});
}

TEST_CASE("leaks: marked regions are taken from a source") {
  const auto regions = marked_regions("a\n// >>> your code\nb\nc\n// <<< your code\nd\n");
  REQUIRE(regions.size() == 1);
  CHECK(regions[0] == "b\nc\n");
}

TEST_CASE("leaks: a reference is found, a stub is not") {
  CHECK_THAT(shingles().found_in(read_text(root / "solutions" / ring)),
             test::contains(" of solutions/"));
  CHECK(shingles().found_in(read_text(root / "exercises" / ring)).empty());
}

TEST_CASE("leaks: one line of a reference is found in a text, in a program, and reformatted") {
  const std::string line = "comm::Work sending = peers.isend(chunk(rank - step), right);";
  const test::Scratch scratch;
  write_text(scratch.path() / "a.md", "Some text.\n" + line + "\n");
  write_text(scratch.path() / "b", std::string("\x7f\0ELF", 5) + line + '\0');
  write_text(scratch.path() / "c.md", "comm :: Work\n  sending=peers . isend ( chunk(rank-step)\n");
  write_text(scratch.path() / "d.md", "for (int rank = 0; rank < size; ++rank) {\n");
  write_text(scratch.path() / "e.md", "std::vector<std::pair<std::int64_t, int>> } ) ; } } }\n");
  const auto found = shingles().found_below(scratch.path());
  REQUIRE(found.size() == 3);
  CHECK_THAT(found[0], test::contains("a.md has \""));
  CHECK_THAT(found[1], test::contains("b has \""));
  CHECK_THAT(found[2], test::contains("c.md has \""));
}

TEST_CASE("leaks: a folder that shows a reference is refused with file, words and a way out") {
  const test::Scratch scratch;
  write_text(scratch.path() / "page.md", "Hello.\n");
  CHECK_NOTHROW(refuse_leaks(shingles(), scratch.path()));
  const std::string line = "comm::Work sending = peers.isend(chunk(rank - step), right);\n";
  write_text(scratch.path() / "page.md", line);
  fs::create_directory(scratch.path() / "bin");
  write_text(scratch.path() / "bin" / "program", std::string("\x7f\0ELF", 5) + line + '\0');
  std::string told;
  try {
    refuse_leaks(shingles(), scratch.path());
  } catch (const UsageError& refusal) {
    told = refusal.what();
  }
  CHECK_THAT(told, test::contains("nothing was packed") && test::contains("  bin/program has \"") &&
                       test::contains("  page.md has \"") &&
                       test::contains("\" of solutions/06_all_reduce/ring_all_reduce.cpp\n") &&
                       test::contains("out of grader/pack/student.list, and pack again"));
}

TEST_CASE("leaks: the course tells little of the references") {
  INFO(shingles().told_by() << " tells " << shingles().longest_told() << " tokens in a row; "
                            << shingles().told() << " shingles are told, "
                            << shingles().looked_for() << " are looked for");
  CHECK(shingles().longest_told() <= told_max);
  CHECK(shingles().looked_for() > 6 * shingles().told());
}
