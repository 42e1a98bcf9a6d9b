// Whole training runs on a GPU that is paper: the kernels that nvcc made, launched as on a GPU, and
// the CPU's losses beside theirs. What paper checks on the way is a finding, and there is none.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/nn/generate.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "tests/gpu/on_paper.hpp"

using namespace lockstep;
using lockstep::test::OnPaper;

namespace {

constexpr std::int64_t sequence = 16, vocabulary = 64;

// Sentences in which each token depends on the one before, so that there is something to learn.
class Sentences final : public data::Dataset {
 public:
  explicit Sentences(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::int64_t inputs() const override { return sequence; }
  std::int64_t labels() const override { return sequence; }
  std::int64_t classes() const override { return vocabulary; }
  data::Batch batch(std::span<const std::int64_t> indices, DType, Device& device) const override {
    const Shape shape{std::ssize(indices), sequence};
    const auto made = [&](std::uint64_t shift) {
      return written_by_host(
          shape, DType::int64, device, MemoryKind::buffers, [&](const Tensor& to) {
            auto at = to.data<std::int64_t>().begin();
            for (const std::int64_t index : indices) {
              for (std::uint64_t t = 0; t < sequence; ++t) {
                const auto i = static_cast<std::uint64_t>(index);
                *at++ = static_cast<std::int64_t>((5 * i + 3 * (t + shift)) % vocabulary);
              }
            }
          });
    };
    return {made(0), made(1)};
  }

 private:
  std::int64_t size_;
};

struct Course {
  train::Recipe recipe{};
  double clip_norm = 0.5;
  int workers = 0;
  std::int64_t accumulate = 1, steps = 10;
};

struct Left {
  std::vector<double> losses;
  double test_loss = 0;
};

class Watch final : public train::Observer {
 public:
  explicit Watch(Left& left) : left_(left) {}
  void on_step(const train::StepReport& report) override { left_.losses.push_back(report.loss); }
  void on_epoch(const train::EpochReport& report) override { left_.test_loss = report.test_loss; }
  void on_end(const train::Summary&) override {}

 private:
  Left& left_;
};

std::unique_ptr<data::Dataset> samples(const Course& course, std::int64_t size,
                                       std::uint64_t seed) {
  if (course.recipe.model.kind == nn::ModelKind::gpt) return std::make_unique<Sentences>(size);
  return data::make_synthetic(size, 33, 5, seed);
}

Left run(const Course& course, Device& device) {
  Left left;
  const auto group = comm::make_solo_group();
  const auto strategy =
      train::make_ddp_or_plain(*group, device, course.recipe,
                               {.accumulate = course.accumulate, .clip_norm = course.clip_norm});
  const auto train_set = samples(course, 60, 1), test_set = samples(course, 3, 2);
  Watch watch(left);
  const std::array<train::Observer*, 1> observers{&watch};
  train::train(*strategy, *train_set, *test_set,
               {.batch_size = 2,
                .accumulate = course.accumulate,
                .steps = course.steps,
                .seed = 5,
                .workers = course.workers},
               observers);
  return left;
}

Course mlp(DType dtype) {
  Course course;
  course.recipe.model.widths = {33, 24, 5};
  course.recipe.model.dtype = dtype;
  course.recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  course.recipe.seed = 3;
  return course;
}

Course gpt(DType dtype, nn::OutputHead head) {
  Course course;
  course.recipe.model.kind = nn::ModelKind::gpt;
  course.recipe.model.gpt = {.layers = 2,
                             .width = 32,
                             .heads = 2,
                             .sequence = sequence,
                             .vocabulary = vocabulary,
                             .head = head};
  course.recipe.model.dtype = dtype;
  course.recipe.optimizer.kind = optim::OptimizerKind::adamw;
  course.recipe.optimizer.adam = {.learning_rate = 1e-2, .weight_decay = 0.1};
  course.recipe.seed = 4;
  return course;
}

// Without a tag, four steps are enough: all kernels have run, on numbers that an update changed.
Course briefly(Course course) {
  course.steps = 4;
  return course;
}

Course with_all_options() {
  Course course = gpt(DType::float32, nn::OutputHead::tied);
  course.recipe.model.gpt.dropout = 0.1;
  course.recipe.model.gpt.keep = nn::Keep::block_inputs;
  course.accumulate = 2;
  course.workers = 2;
  return course;
}

// Both round each operation's result to the dtype, but sum in different orders. A sum of n terms of
// a size differs by √n roundings or so, n is below a thousand here, and in ten steps a difference
// grows by some ten: 300 roundings. A bfloat16 that falls to the other side is off by 2⁻⁸ at once,
// but few do, and a loss is a mean of many.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-13;
    case DType::bfloat16:
      return 2e-3;
    default:
      return 2e-5;
  }
}

// Each seed orders streams, blocks and warps in its own way.
void check_beside_cpu(const Course& course, std::vector<std::uint64_t> seeds = {1, 2, 3}) {
  CpuDevice cpu;
  const Left here = run(course, cpu);
  REQUIRE(std::ssize(here.losses) == course.steps);
  CHECK(here.losses.back() < here.losses.front());
  const double most = tolerance(course.recipe.model.dtype);
  Left first;
  for (const std::uint64_t seed : seeds) {
    CAPTURE(seed);
    OnPaper paper({text("seed=", seed)});
    const Left there = run(course, paper.device());
    REQUIRE(there.losses.size() == here.losses.size());
    for (std::size_t i = 0; i < here.losses.size(); ++i) {
      CAPTURE(i, here.losses[i], there.losses[i]);
      CHECK(std::abs(there.losses[i] - here.losses[i]) <= most * std::abs(here.losses[i]));
    }
    CHECK(std::abs(there.test_loss - here.test_loss) <= most * std::abs(here.test_loss));
    if (first.losses.empty()) first = there;
    CHECK(there.losses == first.losses);  // a GPU's luck changes no bit
    CHECK(paper.findings() == "");
    CHECK(paper.findings_at_the_end() == "");
  }
}

// As on a GPU: a block that a tensor gave back is the next one's.
void check_kept_blocks(const Course& course) {
  const auto losses = [&](gpu::Blocks blocks) {
    OnPaper paper({}, blocks);
    const Left left = run(course, paper.device());
    CHECK(paper.findings() == "");
    CHECK(paper.findings_at_the_end() == "");
    return left.losses;
  };
  CHECK(losses(gpu::Blocks::kept) == losses(gpu::Blocks::chosen));
}

}  // namespace

TEST_CASE("gpu: twenty seeds train alike, and none has a finding", "[.all]") {
  std::vector<std::uint64_t> seeds(20);
  std::iota(seeds.begin(), seeds.end(), 1);
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    check_beside_cpu(mlp(dtype), seeds);
    check_beside_cpu(gpt(dtype, nn::OutputHead::tied), seeds);
    check_beside_cpu(gpt(dtype, nn::OutputHead::untied), seeds);
  }
  check_beside_cpu(with_all_options(), seeds);
}

TEST_CASE("gpu: an MLP trains on paper beside the CPU, float32") {
  check_beside_cpu(mlp(DType::float32));
}
TEST_CASE("gpu: an MLP trains on paper beside the CPU, float64") {
  check_beside_cpu(mlp(DType::float64));
}
TEST_CASE("gpu: an MLP trains on paper beside the CPU, bfloat16") {
  check_beside_cpu(mlp(DType::bfloat16));
}
TEST_CASE("gpu: a GPT with tied weights trains on paper beside the CPU, float32") {
  check_beside_cpu(briefly(gpt(DType::float32, nn::OutputHead::tied)));
}
TEST_CASE("gpu: a GPT with untied weights trains on paper beside the CPU, float32") {
  check_beside_cpu(briefly(gpt(DType::float32, nn::OutputHead::untied)));
}
TEST_CASE("gpu: a GPT with tied weights trains on paper beside the CPU, float64") {
  check_beside_cpu(briefly(gpt(DType::float64, nn::OutputHead::tied)));
}
TEST_CASE("gpu: a GPT with untied weights trains on paper beside the CPU, float64") {
  check_beside_cpu(briefly(gpt(DType::float64, nn::OutputHead::untied)));
}
TEST_CASE("gpu: a GPT with tied weights trains on paper beside the CPU, bfloat16") {
  check_beside_cpu(briefly(gpt(DType::bfloat16, nn::OutputHead::tied)));
}
TEST_CASE("gpu: a GPT with untied weights trains on paper beside the CPU, bfloat16") {
  check_beside_cpu(briefly(gpt(DType::bfloat16, nn::OutputHead::untied)));
}

TEST_CASE("gpu: dropout, several batches a step, blocks computed again, batches read ahead") {
  check_beside_cpu(briefly(with_all_options()));
}

TEST_CASE("gpu: memory that is kept and given out again changes no bit of a run") {
  check_kept_blocks(briefly(gpt(DType::float32, nn::OutputHead::tied)));
}
TEST_CASE("gpu: memory that is kept and given out again changes no bit of a longer run", "[.all]") {
  check_kept_blocks(gpt(DType::float32, nn::OutputHead::tied));
}

// The table of docs/gpu.md.
TEST_CASE("gpu: losses beside the CPU's", "[.figures]") {
  const auto row = [](const char* what, const Course& course) {
    CpuDevice cpu;
    const Left here = run(course, cpu);
    OnPaper paper;
    const Left there = run(course, paper.device());
    double largest = 0;
    for (std::size_t i = 0; i < here.losses.size(); ++i) {
      largest = std::max(largest, std::abs(there.losses[i] / here.losses[i] - 1));
    }
    std::printf("| %s, %s | %.6f | %.6f | %.6f | %.1e |\n", what,
                std::string(name_of(course.recipe.model.dtype)).c_str(), here.losses.front(),
                here.losses.back(), there.losses.back(), largest);
  };
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    row("MLP", mlp(dtype));
    row("GPT, tied", gpt(dtype, nn::OutputHead::tied));
    row("GPT, untied", gpt(dtype, nn::OutputHead::untied));
  }
}

TEST_CASE("gpu: a checkpoint goes from the CPU to paper, and both generate the same text") {
  const Course course = gpt(DType::float32, nn::OutputHead::tied);
  const TemporaryFolder folder("gpu");
  const auto file = folder.path() / "weights.safetensors";
  CpuDevice cpu;
  const auto model = nn::make_model(course.recipe.model, cpu, 4);
  std::vector<checkpoint::NamedTensor> weights;
  for (const Parameter* each : model->parameters()) weights.push_back({each->name, each->value});
  checkpoint::write_safetensors(file, weights, nn::metadata_of(course.recipe.model));

  OnPaper paper;
  const auto same = nn::make_model(course.recipe.model, paper.device(), 5);
  checkpoint::load_weights(file, *same);
  const nn::GenerateOptions wanted{.tokens = 4, .sequence = sequence, .temperature = 0};
  const auto ignore = [](std::int64_t) {};
  CHECK(nn::generate(*same, {1, 2, 3}, wanted, ignore) ==
        nn::generate(*model, {1, 2, 3}, wanted, ignore));
  CHECK(paper.findings() == "");
}
