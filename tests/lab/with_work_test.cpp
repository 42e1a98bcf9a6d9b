// Which of a student's parts a run of the trainer calls, by what their manifests say.
#include "grader/lab/with_work.hpp"

#include "tests/catch.hpp"

using namespace lockstep::grader;

namespace {

CalledBy called_by(const std::string& part) {
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  return exercise_named(course, part).called_by;
}

std::string words_of_part(const std::string& part, const Words& run) {
  return words_for_yours(called_by(part), run);
}

}  // namespace

TEST_CASE(
    "with work: an all-reduce is called where the run asks for it, the ring between nodes too") {
  const std::string unused = "yours, unused without --all-reduce ";
  CHECK(words_of_part("ring_all_reduce", {"--ranks", "2"}) == unused + "ring");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce", "tree"}) == unused + "ring");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce", "ring"}) == "yours");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce=ring"}) == "yours");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce=hierarchical"}) == "yours");
  CHECK(words_of_part("tree_all_reduce", {"--all-reduce=hierarchical"}) == unused + "tree");
  CHECK(words_of_part("halving_doubling_all_reduce", {"--all-reduce", "halving-doubling"}) ==
        "yours");
  CHECK(words_of_part("reduce_scatter", {}) == unused + "hierarchical");
}

TEST_CASE("with work: an option that is given as what it is without counts as not given") {
  CHECK(words_of_part("prefetching_loader", {"--workers", "0"}) ==
        "yours, unused without --workers");
  CHECK(words_of_part("prefetching_loader", {"--workers", "2"}) == "yours");
  CHECK(words_of_part("prefetching_loader", {"--workers", "2", "--workers=0"}) ==
        "yours, unused without --workers");
  CHECK(words_of_part("scale_learning_rate", {"--lr-scaling", "linear"}) == "yours");
  CHECK(words_of_part("scale_learning_rate", {}) == "yours, unused without --lr-scaling");
}

TEST_CASE("with work: parts of the plain way turn overlap off, unless the run is DDP's") {
  for (const char* part : {"average_gradients", "data_parallel_step"}) {
    const CalledBy by = called_by(part);
    CHECK(added_option(by, {"--ranks", "2"}) == "--no-overlap");
    CHECK(added_option(by, {"--no-overlap"}).empty());
    CHECK(words_for_yours(by, {"--no-overlap"}) == "yours");
    for (const std::string ddp : {"--bucket-mb=1", "--find-unused", "--accumulate=2"}) {
      CHECK(added_option(by, {ddp}).empty());
      CHECK(words_for_yours(by, {ddp}) == "yours, unused with " + ddp.substr(0, ddp.find('=')));
    }
  }
  CHECK(added_option(called_by("broadcast_parameters"), {}).empty());
  CHECK(words_of_part("broadcast_parameters", {}) == "yours");
  CHECK(words_of_part("split_groups", {}).starts_with("yours, unused: "));
}
