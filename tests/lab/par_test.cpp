// Par: how near a part that passed is to the best known solution of its task.
#include <nlohmann/json.hpp>

#include "grader/lab/par_text.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Tree;

namespace {

Exercise broadcast() {
  Exercise exercise;
  exercise.name = "broadcast";
  return exercise;
}

nlohmann::json par_of(const Tree& tree, const std::string& from, const std::string& part) {
  const auto checked = tree.lab({"check", "--json", "--from", from, part});
  return nlohmann::json::parse(checked.output).at("par");
}

}  // namespace

TEST_CASE("par in words: what is at the best known, what is not, and where to see it") {
  CHECK(par_text({}, broadcast()).empty());
  CHECK(par_json({}).is_null());
  const ParCounter bytes{"bytes", 700, 700, "case 1"}, time{"time", 2e-3, 1.6e-3, "case 2"};
  CHECK(par_text({bytes}, broadcast()) == "★★★ bytes as in the best known broadcast");
  const std::string words = par_text({bytes, time}, broadcast());
  CHECK_THAT(words, contains("★★☆ bytes as in the best known broadcast\n") &&
                        contains("time: 2 ms, 1.25 times the best known, 1.6 ms (case 2)\n") &&
                        contains("./lab compare broadcast"));
  CHECK(par_json({bytes, time}).at("stars") == 2);
}

TEST_CASE("par: the references of all collectives over messages are at par") {
  const Tree tree;
  for (const char* part :
       {"exchange", "broadcast", "reduce", "scatter", "gather", "all_gather", "reduce_scatter",
        "all_to_all", "barrier", "naive_all_reduce", "ring_all_reduce", "tree_all_reduce",
        "halving_doubling_all_reduce", "hierarchical_all_reduce"}) {
    const auto par = par_of(tree, "solutions", part);
    INFO(part << ": " << par.dump(2));
    REQUIRE(par.is_object());
    CHECK(par.at("stars") == 3);
    CHECK(par.at("counters").size() == 4);
  }
  const auto mean = par_of(tree, "solutions", "average_gradients");
  REQUIRE(mean.is_object());
  CHECK(mean.at("stars") == 3);
  CHECK(mean.at("counters").size() == 1);
  CHECK(par_of(tree, "solutions", "distributed_sampler").is_null());
}

TEST_CASE("par: a barrier up and down a tree passes, and is told what it costs") {
  const Tree tree;
  const std::filesystem::path tests = LOCKSTEP_ROOT "/tests/exercises/03_collectives/barrier";
  write_text(tree.root() / "work/03_collectives/barrier.cpp",
             read_text(tests / "alternatives/tree_up_and_down.cpp"));
  const auto checked = tree.lab({"check", "barrier"});
  CHECK(checked.exit_code == 0);
  CHECK_THAT(checked.output, contains("pass  10/10 points") && contains("  par       ★☆☆ bytes") &&
                                 contains("time: ") && contains("./lab compare barrier"));
  const auto par = par_of(tree, "work", "barrier");
  CHECK(par.at("stars") == 1);
  CHECK(par.at("counters").at(3).at("name") == "time");
  CHECK(par.at("counters").at(3).at("ratio") > 1.5);
}

TEST_CASE("par: what is not solved has none") {
  const Tree tree;
  CHECK(par_of(tree, "exercises", "broadcast").is_null());
}
