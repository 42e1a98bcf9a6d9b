// Which hint comes next, and what of it is remembered.
#include "grader/lab/hint.hpp"

#include <set>

#include "grader/judge/causes.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Tree;

namespace {

Exercise ring() {
  Exercise exercise;
  exercise.name = "ring";
  exercise.lesson = "06_x";
  return exercise;
}

Task task() {
  Task task;
  task.hints = {"## Hint 1: a\n", "## Hint 2: b\n", "## Hint 3: c\n"};
  task.for_causes = {{{"tail_lost", "other"}, "## Hint for tail_lost, other: the end\n"},
                     {{"wrong_answer"}, "## Hint for wrong_answer: any\n"}};
  return task;
}

Standing failed_with(const std::string& cause) {
  Standing standing;
  Judged judged;
  judged.verdict = "wrong answer";
  judged.cause = cause;
  judged.message = "element 5 is 3";
  standing.judged(judged);
  return standing;
}

Judged passed_at(std::int64_t seconds) {
  Judged judged;
  judged.verdict = "pass";
  judged.judged_at = seconds;
  return judged;
}

}  // namespace

TEST_CASE("hint: without a failure the rungs come one after the other, then the last again") {
  Standing standing;
  for (const char* rung : {"1", "2", "3"}) {
    if (standing.hints.contains("2")) standing.judged(passed_at(2));
    const ShownHint hint = next_hint(task(), Task{}, ring(), standing);
    CHECK(hint.rung == rung);
    standing.hints[hint.rung] = 1;
  }
  const ShownHint last = next_hint(task(), Task{}, ring(), standing);
  CHECK(last.rung.empty());
  CHECK_THAT(last.words, contains("## Hint 3") && contains("--all"));
}

TEST_CASE("hint: the pseudo-code comes after another check, not as the next key") {
  Standing standing = failed_with("unknown");
  standing.last->judged_at = 4;
  standing.hints[next_hint(task(), Task{}, ring(), standing).rung] = 4;
  standing.hints.insert({{"1", 5}, {"2", 6}});
  const ShownHint early = next_hint(task(), Task{}, ring(), standing);
  CHECK(early.rung.empty());
  CHECK_THAT(early.words, !contains("## Hint 3") && contains("./lab hint ring --rung 3"));
  standing.last->judged_at = 7;
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "3");
  standing.hints.erase("2");
  CHECK_THAT(next_hint(task(), Task{}, ring(), standing).words,
             contains("Still stuck after your next check? ./lab hint ring"));
}

TEST_CASE("hint: what went wrong last comes first, once, with what the check had said") {
  Standing standing = failed_with("other");
  const ShownHint first = next_hint(task(), Task{}, ring(), standing);
  CHECK(first.rung.starts_with("for tail_lost "));
  CHECK_THAT(first.words, contains("the last check said: element 5 is 3") &&
                              contains("## Hint: the end") && !contains("tail_lost"));
  standing.hints[first.rung] = 1;
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "1");
  const ShownHint general = next_hint(task(), Task{}, ring(), failed_with("unknown"));
  CHECK(general.rung.starts_with("for wrong_answer "));
}

TEST_CASE("hint: a new failure of the same cause has its hint again, the same failure has not") {
  Standing standing = failed_with("tail_lost");
  standing.last->judged_at = 2;
  for (const char* rung : {"1", "2"}) standing.hints[rung] = 1;  // 3, the pseudo-code, is next
  standing.hints[next_hint(task(), Task{}, ring(), standing).rung] = 1;
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "3");
  standing.last->message = "element 7 is 4";
  CHECK_THAT(next_hint(task(), Task{}, ring(), standing).words,
             contains("element 7 is 4") && contains("## Hint: the end"));
  standing.hints[next_hint(task(), Task{}, ring(), standing).rung] = 2;
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "3");
  standing.last->content_hash = 7;  // another mistake in a changed file, of which as much is said
  CHECK_THAT(next_hint(task(), Task{}, ring(), standing).words, contains("## Hint: the end"));
}

TEST_CASE("hint: the failure of another file counts until the student's own is judged") {
  Standing standing;
  Judged tried;
  tried.verdict = "wrong answer";
  tried.cause = "tail_lost";
  tried.message = "element 3 is 0";
  tried.judged_at = 7;
  standing.tried_elsewhere(tried);
  CHECK_THAT(next_hint(task(), Task{}, ring(), standing).words,
             contains("the last check said: element 3 is 0") && contains("## Hint: the end"));
  Judged pass;
  pass.verdict = "pass";
  pass.judged_at = 8;
  standing.judged(pass);
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "1");
}

TEST_CASE("hint: a file that does not compile has hints about C++, and spends none of the task's") {
  const Task common = read_task(std::filesystem::path(LOCKSTEP_ROOT) / "exercises/common_hints.md");
  Task of_layer = task();
  of_layer.text =
      "| a layer | `other(x)` of `engine/base/text.hpp` |\n"
      "| a layer | `autograd::linear(x)` of `engine/autograd/operations.hpp` |\n";
  Standing standing = failed_with("syntax");
  standing.last->verdict = "compile error";
  standing.last->message = "work/a.cpp:9:3: ‘autograd’ has not been declared";
  const ShownHint first = next_hint(of_layer, common, ring(), standing);
  CHECK(first.rung.starts_with("for syntax "));
  CHECK_THAT(first.words, contains("the last check said: work/a.cpp:9:3") &&
                              contains("#include \"engine/autograd/operations.hpp\"") &&
                              contains("./lab hint ring --rung 1"));
  standing.hints[first.rung] = 1;
  const ShownHint second = next_hint(of_layer, common, ring(), standing);
  CHECK(second.rung.starts_with("for compile_error "));
  standing.hints[second.rung] = 2;
  CHECK(next_hint(of_layer, common, ring(), standing).rung == second.rung);
  standing.last->message = "work/a.cpp:9:3: expected ‘;’ before ‘}’ token";
  const ShownHint other = next_hint(of_layer, common, ring(), standing);
  CHECK(other.rung.starts_with("for syntax "));
  CHECK_THAT(other.words, !contains("#include"));
  standing.judged(failed_with("tail_lost").last.value());
  CHECK_THAT(next_hint(of_layer, common, ring(), standing).words, contains("## Hint: the end"));
}

TEST_CASE("hint: every cause that exams share has a hint of its own") {
  const Task common = read_task(std::filesystem::path(LOCKSTEP_ROOT) / "exercises/common_hints.md");
  // The compiler, the linker and the lab say themselves what is wrong.
  const std::set<std::string_view> without{"stub",         "missing_symbol",    "link",
                                           "compile_time", "compiler_gave_up",  "machine_code",
                                           "hidden_bytes", "unreadable_object", "too_few_cases",
                                           "no_cause"};
  for (const CauseMeaning& cause : common_causes()) {
    if (without.contains(cause.name)) continue;
    INFO(cause.name);
    CHECK(common.hint_for(std::string(cause.name)) != nullptr);
  }
  for (const char* cause : {"not_refused", "rank_twice", "scaled"}) {
    INFO(cause);
    CHECK_THAT(next_hint(Task{}, common, ring(), failed_with(cause)).words,
               contains("## Hint: ") && !contains("a wrong result"));
  }
}

TEST_CASE("hint: what fits any exercise is said where the task has no hint for the cause") {
  Task common;
  common.for_causes = {{{"cycle"}, "## Hint for cycle: wait\n"},
                       {{"tail_lost"}, "## Hint for tail_lost: any tail\n"}};
  CHECK_THAT(next_hint(task(), common, ring(), failed_with("cycle")).words, contains("wait"));
  CHECK_THAT(next_hint(task(), common, ring(), failed_with("tail_lost")).words,
             !contains("any tail"));
}

TEST_CASE("hint: after a pass a hint for a failure is none") {
  Standing standing = failed_with("tail_lost");
  standing.judged(passed_at(5));
  CHECK(next_hint(task(), Task{}, ring(), standing).rung == "1");
}

TEST_CASE("lab hint: each call shows one more, and --rung and --all show any") {
  const Tree tree;
  CHECK_THAT(tree.lab({"hint", "ring_all_reduce"}).output, contains("## Hint 1"));
  CHECK_THAT(tree.lab({"hint", "ring_all_reduce"}).output,
             contains("## Hint 2") && !contains("## Hint 1"));
  CHECK_THAT(tree.lab({"hint", "ring_all_reduce"}).output,
             !contains("## Hint 3") && contains("./lab hint ring_all_reduce --rung 3"));
  CHECK_THAT(tree.lab({"hint", "ring_all_reduce", "--rung", "1"}).output,
             contains("## Hint 1") && contains(".\n\nStill stuck? ./lab hint ring_all_reduce"));
  CHECK_THAT(tree.lab({"hint", "ring_all_reduce", "--all"}).output,
             contains("## Hint 1") && contains("## Hint 3"));
  CHECK(tree.lab({"hint", "ring_all_reduce", "--rung", "4"}).exit_code == 2);
  CHECK(tree.lab({"hint", "ring_al_reduce"}).exit_code == 2);
}

TEST_CASE("lab hint: without a name it is about the file that was edited last") {
  const Tree tree;
  tree.lab({"begin"});
  CHECK_THAT(tree.lab({"hint"}).output, contains("./lab hint average_gradients"));
  write_text(tree.root() / "work/03_collectives/exchange.cpp", "int x;\n");
  const std::string hint = tree.lab({"hint"}).output;
  CHECK_THAT(hint, contains("./lab hint exchange"));
  CHECK(hint.starts_with("03_collectives/exchange\n\n"));  // since nobody has named it
  CHECK(tree.lab({"hint", "exchange"}).output.starts_with("## "));
}
