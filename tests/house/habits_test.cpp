// Each habit on made-up lines: what it must see, and what it must let pass.
#include "tests/house/habits.hpp"

#include "tests/catch.hpp"

using namespace lockstep::house;

namespace {

template <typename Habit>
bool flags(Habit habit, const std::string& line, const std::string& path = "engine/base/a.cpp") {
  return !habit(source_of(path, line + "\n")).empty();
}

}  // namespace

TEST_CASE("habits: 400 lines pass, 401 do not") {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "// line\n";
  CHECK(too_long(source_of("engine/base/a.cpp", text)).empty());
  CHECK(too_long(source_of("engine/base/a.cpp", text + "// one more\n")).size() == 1);
}

TEST_CASE("habits: a file begins with a comment, or with the header that has it") {
  CHECK_FALSE(flags(no_opening_comment, "#include \"engine/base/a.hpp\""));
  CHECK(flags(no_opening_comment, "#include \"engine/comm/b.hpp\""));
  CHECK(flags(no_opening_comment, "#pragma once"));
  CHECK(flags(no_opening_comment, ""));
  CHECK_FALSE(flags(no_opening_comment, "// The idea."));
}

TEST_CASE("habits: only engine/launch reads the environment") {
  const std::string line = "  const char* rank = std::getenv(\"RANK\");";
  CHECK(flags(reads_environment, line));
  CHECK_FALSE(flags(reads_environment, line, "engine/launch/environment.cpp"));
  CHECK_FALSE(flags(reads_environment, line, "engine/paper/settings.cpp"));
  CHECK(flags(reads_environment, line, "engine/paper/findings.cpp"));
  CHECK_FALSE(flags(reads_environment, "  if (std::getenv(\"NO_COLOR\") == nullptr) paint();"));
  CHECK_FALSE(flags(reads_environment, "// no getenv here"));
  CHECK_FALSE(flags(reads_environment, "  say(\"getenv\");"));
}

TEST_CASE("habits: hidden state is seen in every form") {
  CHECK(flags(hidden_state, "thread_local int depth = 0;"));
  CHECK(flags(hidden_state, "  static std::mutex mutex;"));
  CHECK(flags(hidden_state, "  static int calls = count();"));
  CHECK(flags(hidden_state, "static std::map<int, int> cache{};"));
  CHECK(flags(hidden_state, "int counter = 0;"));
  CHECK(flags(hidden_state, "std::vector<int> registry;"));
  CHECK(flags(hidden_state, "int counter = 0;", "engine/paper/memory/memory.cpp"));
  CHECK_FALSE(flags(hidden_state, "int counter = 0;", "engine/paper/cudart/runtime.cpp"));
}

TEST_CASE("habits: constants, functions and members are no hidden state") {
  CHECK_FALSE(flags(hidden_state, "constexpr int limit = 3;"));
  CHECK_FALSE(flags(hidden_state, "const std::string name = \"x\";"));
  CHECK_FALSE(flags(hidden_state, "  static constexpr int no_color = -1;"));
  CHECK_FALSE(flags(hidden_state, "static int twice(int x) { return 2 * x; }"));
  CHECK_FALSE(flags(hidden_state, "std::string_view name_of(Op op);"));
  CHECK_FALSE(flags(hidden_state, "using Bytes = std::vector<std::byte>;"));
  CHECK_FALSE(flags(hidden_state, "struct Tape;"));
  CHECK_FALSE(flags(hidden_state, "static_assert(sizeof(int) == 4);"));
  CHECK_FALSE(flags(hidden_state, "  int rank_;"));
  CHECK_FALSE(flags(hidden_state, "};"));
}

TEST_CASE("habits: a bool parameter is seen, a bool result is not") {
  CHECK(flags(bool_parameters, "void split(bool shuffle);"));
  CHECK(flags(bool_parameters, "void split(int rank, bool shuffle);"));
  CHECK_FALSE(flags(bool_parameters, "bool finished() const;"));
}

TEST_CASE("habits: a main outside the frame of all programs is seen") {
  CHECK(flags(unframed_main, "int main() { return 0; }"));
  CHECK_FALSE(flags(unframed_main, "int main() { return run_program(\"lab\", run); }"));
  CHECK_FALSE(flags(unframed_main, "int main() { return 0; }", "grader/judge/judge_main.cpp"));
}

TEST_CASE("habits: marks of unfinished work are seen, as whole words") {
  CHECK(flags(unfinished_words, std::string("// TO") + "DO: later"));
  CHECK_FALSE(flags(unfinished_words, "int mastodons = 0;"));
}

TEST_CASE("habits: exams draw with a key, but where a contract asks for the engine's generator") {
  for (const char* line : {"  return random_bits(salt, i);", "#include <random>",
                           "  for (const auto i : random_permutation(count, salt)) {"}) {
    CHECK(flags(drawn_backwards, line, "grader/exam/layer/exam.cpp"));
    CHECK(flags(drawn_backwards, line, "grader/parts/11_sharding/offload_optimizer/host.cpp"));
    CHECK_FALSE(flags(drawn_backwards, line, "grader/parts/10_compression/random_k/case.hpp"));
    CHECK_FALSE(flags(drawn_backwards, line));
  }
  CHECK_FALSE(flags(drawn_backwards, "  return keyed_bits(salt, i);", "grader/exam/a.cpp"));
}

TEST_CASE("habits: a test name that ctest cannot list is seen") {
  CHECK(flags(unlistable_test_names, std::string("TEST_CASE(\"fills ") + "[0, 1) evenly\") {"));
  CHECK(flags(unlistable_test_names, std::string("TEST_CASE(\"one") + "; two\") {"));
  CHECK_FALSE(flags(unlistable_test_names, "TEST_CASE(\"a plain, honest sentence\") {"));
}
