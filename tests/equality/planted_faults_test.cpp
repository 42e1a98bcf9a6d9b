// What goes wrong in practice, planted into each way to train: the bar must say so.
#include <algorithm>

#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/weights.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"

using namespace lockstep;
using test::BarTask;
using test::Course;
using test::Distance;
using test::MakeWay;
using test::World;

namespace {

// A sum over the ranks for their mean; a second division by the number of micro-batches; a tied
// weight of which only one of its two uses brings a gradient.
enum class Fault : std::uint8_t { none, summed, divided_twice, one_use_of_two };
enum class Carrier : std::uint8_t { ddp, horovod, async };

constexpr int ranks_of_faults = 2;
constexpr std::int64_t micro_batches = 2;

// What the fault multiplies every gradient by.
double factor_of(Fault fault) {
  if (fault == Fault::summed) return ranks_of_faults;
  return fault == Fault::divided_twice ? 1.0 / micro_batches : 1;
}

class ScaledSum final : public collectives::CommHook {
 public:
  explicit ScaledSum(double factor) : factor_(factor) {}
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    bucket.flat.scale_(factor_);
    return group.all_reduce_async(bucket.flat, ReduceOp::sum);
  }

 private:
  double factor_;
};

// Replaces the tied head by one that only begins with the same numbers. The token embedding is left
// with the gradient of its first use; that of the other goes to the head.
void part_head(train::Recipe& recipe, const std::filesystem::path& file, Device& device) {
  const auto model = nn::make_model(recipe.model, device, recipe.seed);
  auto tensors = checkpoint::tensors_of(*model);
  const auto table = std::ranges::find(tensors, "wte.weight", &checkpoint::NamedTensor::name);
  tensors.push_back({"lm_head.weight", table->value});
  checkpoint::write_safetensors(file, tensors);
  recipe.model.gpt.head = nn::OutputHead::untied;
  recipe.first_weights = file;
}

Course without_head(Course course) {
  const auto at = std::ranges::find(course.names, "lm_head.weight");
  if (at == course.names.end()) return course;
  course.parameters.erase(course.parameters.begin() + (at - course.names.begin()));
  course.names.erase(at);
  return course;
}

// How far a run with the fault is from one rank's.
Distance apart_with(Fault fault, Carrier carrier, const BarTask& task) {
  const TemporaryFolder folder("equality");
  // DDP leaves the mean to its hook; Horovod divides what the hook has summed.
  ScaledSum hook(factor_of(fault) / (carrier == Carrier::ddp ? ranks_of_faults : 1));
  const MakeWay way = [&](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
                          const BarTask& of_task) {
    train::Recipe faulty = recipe;
    if (fault == Fault::one_use_of_two) {
      part_head(faulty, folder.path() / text(group.rank()), device);
    }
    const MakeWay engine = carrier == Carrier::ddp       ? test::ddp_way(ddp::Unused::refuse, &hook)
                           : carrier == Carrier::horovod ? test::horovod_way(&hook)
                                                         : test::async_way(0);
    // Servers have no hook. To SGD, a scaled rate is a scaled gradient.
    if (carrier == Carrier::async) faulty.optimizer.sgd.learning_rate *= factor_of(fault);
    return engine(group, device, faulty, of_task);
  };
  return distance(without_head(test::course_of(World::sim, ranks_of_faults, way, task, 20)),
                  test::alone(task, 20));
}

// What the bar says of a fault: of the gradients of step 1, and of 5 steps of SGD.
bool passes(Fault fault, Carrier carrier) {
  BarTask sgd = test::sgd_task();
  sgd.steps = 5;
  sgd.accumulate = micro_batches;
  const Distance first = apart_with(fault, carrier, test::first_gradients(micro_batches, 0));
  const bool gradients = first.parameter <= test::of_gradients;
  const bool losses = apart_with(fault, carrier, sgd).loss <= test::of_losses;
  if (fault == Fault::one_use_of_two) CHECK(first.worst == "wte.weight");
  CHECK(gradients == losses);
  return gradients && losses;
}

}  // namespace

TEST_CASE("equality: the bar finds a sum for a mean, a mean of a mean, half of a tied gradient") {
  const auto carrier = GENERATE(Carrier::ddp, Carrier::horovod, Carrier::async);
  CAPTURE(static_cast<int>(carrier));
  CHECK(passes(Fault::none, carrier));
  CHECK_FALSE(passes(Fault::summed, carrier));
  CHECK_FALSE(passes(Fault::divided_twice, carrier));
  CHECK_FALSE(passes(Fault::one_use_of_two, carrier));
}
