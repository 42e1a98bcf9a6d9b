#include "grader/lab/measure.hpp"

#include "engine/base/error.hpp"
#include "engine/sim/core/core.hpp"
#include "grader/course/compile/recipe.hpp"
#include "grader/lab/ready.hpp"
#include "grader/play/collective_case.hpp"

namespace lockstep::grader {
namespace {

// The students' edition has no source to build it from, but its object.
StudentBuild player_of_reference(const Lab& lab, const Exercise& part) {
  if (!lab.packed) {
    make_ready(lab, {&part});
    return build_student(lab.places, part, lab.places.solution(part), Paint::plain);
  }
  const Recipe recipe = recipe_for(read_recipe(lab.places.recipe(part)), PlayerKind::usual);
  return link_player(lab.places, recipe, part.file(), lab.places.reference_object(part),
                     lab.places.students() / (part.name + ".reference"));
}

}  // namespace

double measured_for_quiz(const Lab& lab, const std::string& question, const Point& point) {
  if (question != "bytes_formula") throw Error("nothing is measured for question " + question);
  const Exercise& ring = exercise_named(lab.course, "ring_all_reduce");
  const StudentBuild build = player_of_reference(lab, ring);
  if (!build.cause.empty()) throw Error("the reference ring does not build: " + build.message);

  const int ranks = static_cast<int>(point.at("N"));
  const auto elements = static_cast<std::int64_t>(point.at("P"));
  CollectiveCase all_reduce;
  const auto bytes = static_cast<std::size_t>(elements) * bytes_of(all_reduce.dtype);
  all_reduce.calls.emplace_back().buffers = {{elements, Bytes(bytes)}};
  const std::vector<Bytes> inputs(static_cast<std::size_t>(ranks), fields_to_bytes(all_reduce));

  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  sim::ProcessHost host({build.player.string()}, ranks, lab.limits);
  if (const auto result = host.run(core, inputs); result.finding) {
    throw Error("the reference ring failed: " + result.finding->message);
  }
  double sent = 0;
  for (const auto& rank : core.counters().ranks) sent += static_cast<double>(rank.bytes_sent);
  return sent / ranks;
}

}  // namespace lockstep::grader
