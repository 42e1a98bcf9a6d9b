// Whole training runs on a device whose memory the host cannot read: the CPU's bits, and one read a
// step. The device's kernels run when the host reads, so a step that looked earlier would show.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/comm/group_by_device.hpp"
#include "engine/data/text.hpp"
#include "engine/data/tokenizer.hpp"
#include "engine/nn/generate.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/comm/far_group.hpp"
#include "tests/tensor/far_device.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::FarDevice;

namespace {

struct Course {
  train::Recipe recipe{};
  enum class By : std::uint8_t { ddp, plain } by = By::ddp;
  std::int64_t accumulate = 1;
  double clip_norm = 0;
  ddp::Unused unused = ddp::Unused::refuse;
  int ranks = 1;
  std::int64_t steps = 5;
  int workers = 0;                       // that read batches ahead
  std::filesystem::path resumed_from{};  // a folder of checkpoints
};

// All that a run leaves, to be compared bit for bit.
struct Left {
  std::vector<double> losses;
  std::vector<std::int64_t> reads;  // of the host, from one step to the next
  double test_loss = 0, test_accuracy = 0;
  std::vector<std::uint64_t> hashes;
  std::string checkpoint;  // the bytes of the model's and of the optimizer's file

  bool same_as(const Left& other) const {
    return losses == other.losses && test_loss == other.test_loss &&
           test_accuracy == other.test_accuracy && hashes == other.hashes &&
           checkpoint == other.checkpoint;
  }
};

class Watch final : public train::Observer {
 public:
  Watch(const Device& device, Left& left) : device_(device), left_(left) {}
  void on_step(const train::StepReport& report) override {
    left_.losses.push_back(report.loss);
    if (seen_ >= 0) left_.reads.push_back(device_.host_reads() - seen_);
    seen_ = device_.host_reads();
  }
  void on_epoch(const train::EpochReport& report) override {
    left_.test_loss = report.test_loss;
    left_.test_accuracy = report.test_accuracy;
    left_.hashes = report.agreement.hashes;
  }
  void on_end(const train::Summary&) override {}

 private:
  const Device& device_;
  Left& left_;
  std::int64_t seen_ = -1;
};

std::string bytes_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

constexpr std::string_view text_to_learn =
    "Ranks that disagree do not fail, they wait.\nA gradient is summed once, and only once.\n"
    "What one rank knows, all must be told.\nA bucket leaves when its last gradient came.\n"
    "The slowest rank sets the pace of the step.\nNobody reads what has not been computed.\n";

std::unique_ptr<data::Dataset> samples_for(const train::Recipe& recipe, std::uint64_t seed) {
  if (recipe.model.kind == nn::ModelKind::mlp) return data::make_synthetic(90, 16, 5, seed);
  return data::make_text(text_to_learn, *data::make_byte_tokenizer(), recipe.model.gpt.sequence,
                         seed == 1 ? 2 : 9);
}

std::unique_ptr<train::Strategy> strategy_of(const Course& course, comm::ProcessGroup& group,
                                             Device& device) {
  if (course.by == Course::By::plain) {
    return train::make_plain(group, train::make_replica(course.recipe, device), course.clip_norm);
  }
  train::DdpRun run{.accumulate = course.accumulate, .clip_norm = course.clip_norm};
  run.options.unused = course.unused;
  return train::make_ddp_or_plain(group, device, course.recipe, std::move(run));
}

template <typename OfRank>
Left run_with(const Course& course, const std::filesystem::path& folder, const OfRank& make) {
  Left left;
  const auto train_set = samples_for(course.recipe, 1), test_set = samples_for(course.recipe, 2);
  test::on_fibers(course.ranks, [&](comm::ProcessGroup& whole) {
    auto [device, group] = make(whole);
    const auto strategy = strategy_of(course, *group, *device);
    train::TrainOptions options{.batch_size = 4, .steps = course.steps, .seed = 5};
    options.accumulate = course.accumulate;
    options.workers = course.workers;
    if (!course.resumed_from.empty()) {
      const checkpoint::SavedRun saved(*checkpoint::latest_in(course.resumed_from));
      strategy->restore(saved);
      options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
    }
    Left mine;
    Watch watch(*device, mine);
    const std::array<train::Observer*, 1> observers{&watch};
    options.save = [&](const train::Position& at) {
      checkpoint::FileStorage storage(folder);
      train::save(*strategy, train::SaveForm::dense, name_of(course.recipe.optimizer.kind), storage,
                  {.step = at.step, .epoch = at.epoch, .taken = at.taken}, {});
    };
    train::train(*strategy, *train_set, *test_set, options, observers);
    if (group->rank() != 0) return;
    left = mine;
    for (const auto& file : std::filesystem::directory_iterator(*checkpoint::latest_in(folder))) {
      if (file.path().extension() == ".safetensors") left.checkpoint += bytes_of_file(file.path());
    }
  });
  return left;
}

template <typename OnDevice>
struct OfRank {
  std::unique_ptr<OnDevice> device;  // outlives the group, whose operations hold tensors
  std::unique_ptr<comm::ProcessGroup> group;
};

Left run_near(const Course& course, const std::filesystem::path& folder) {
  return run_with(course, folder, [](comm::ProcessGroup& whole) {
    return OfRank<CpuDevice>{std::make_unique<CpuDevice>(), whole.split(0, whole.rank())};
  });
}

Left run_far(const Course& course, const std::filesystem::path& folder) {
  return run_with(course, folder, [](comm::ProcessGroup& whole) {
    auto device = std::make_unique<FarDevice>();
    auto host = whole.split(0, whole.rank());
    auto away = test::make_far_group(whole.split(0, whole.rank()));
    return OfRank<FarDevice>{std::move(device),
                             comm::make_group_by_device(std::move(host), std::move(away))};
  });
}

Course mlp(DType dtype) {
  Course course;
  course.recipe.model.widths = {16, 24, 12, 5};
  course.recipe.model.dtype = dtype;
  course.recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  course.recipe.seed = 3;
  course.clip_norm = 0.5;
  return course;
}

Course gpt(DType dtype, nn::OutputHead head) {
  Course course;
  course.recipe.model.kind = nn::ModelKind::gpt;
  course.recipe.model.gpt = {
      .layers = 2, .width = 16, .heads = 2, .sequence = 12, .head = head, .dropout = 0.1};
  course.recipe.model.dtype = dtype;
  course.recipe.optimizer.kind = optim::OptimizerKind::adamw;
  course.recipe.optimizer.adam = {.learning_rate = 1e-2, .weight_decay = 0.1};
  course.recipe.seed = 4;
  course.clip_norm = 0.5;
  return course;
}

// The far run has the near one's bits, and the host reads once a step.
void check_alike(const Course& course) {
  const TemporaryFolder near_folder("near"), far_folder("far");
  const Left near = run_near(course, near_folder.path()), far = run_far(course, far_folder.path());
  REQUIRE(near.losses.size() == static_cast<std::size_t>(course.steps));
  CHECK(near.losses.front() != near.losses.back());
  CHECK(far.losses == near.losses);
  CHECK(far.hashes == near.hashes);
  CHECK(far.checkpoint.size() > 1000);
  CHECK(far.same_as(near));
  CHECK(far.reads == std::vector<std::int64_t>(static_cast<std::size_t>(course.steps - 1), 1));
}

}  // namespace

TEST_CASE("far: an MLP trains to the CPU's bits, and the host reads once a step") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(name_of(dtype), ranks);
      Course course = mlp(dtype);
      course.ranks = ranks;
      check_alike(course);
    }
  }
}

TEST_CASE("far: a GPT trains to the CPU's bits, tied and untied, with dropout and clipping") {
  for (const auto head : {nn::OutputHead::tied, nn::OutputHead::untied}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      for (const int ranks : {1, 2}) {
        CAPTURE(static_cast<int>(head), name_of(dtype), ranks);
        Course course = gpt(dtype, head);
        course.ranks = ranks;
        course.steps = 4;
        check_alike(course);
      }
    }
  }
}

TEST_CASE("far: gradients after backward, several batches a step, and blocks computed again") {
  Course plain = mlp(DType::float64);
  plain.ranks = 2;
  plain.by = Course::By::plain;
  check_alike(plain);

  Course accumulated = gpt(DType::float32, nn::OutputHead::tied);
  accumulated.ranks = 2;
  accumulated.steps = 3;
  accumulated.accumulate = 2;
  accumulated.recipe.model.gpt.keep = nn::Keep::block_inputs;
  check_alike(accumulated);
}

TEST_CASE("far: gradients that may be absent are reduced, and other threads read batches ahead") {
  Course course = mlp(DType::float32);
  course.ranks = 2;
  course.unused = ddp::Unused::reduce;
  check_alike(course);
  course.unused = ddp::Unused::refuse;
  course.workers = 2;
  check_alike(course);
}

TEST_CASE("far: pieces of several ranks are put together on the rank that asks") {
  test::on_fibers(3, [](comm::ProcessGroup& whole) {
    FarDevice device;
    const auto group = comm::make_group_by_device(
        whole.split(0, whole.rank()), test::make_far_group(whole.split(0, whole.rank())));
    const std::int64_t r = group->rank();
    const Boxes columns{{{0, 2 * r}, {2, 2 * r + 2}}};
    std::vector<double> counted(12);
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<double>(i);
    CpuDevice host;
    const Tensor all = from_values(counted, {2, 6}, DType::float32, host);
    const std::vector<train::Piece> mine{
        {train::PieceKind::parameter, "w", {2, 6}, columns, to_device(cut(all, columns), device)}};
    const auto gathered = train::gather_whole(*group, 1, mine, device);
    if (r != 1) return;
    REQUIRE(gathered.size() == 1);
    const Tensor seen = to_host(gathered[0].value);
    for (std::int64_t i = 0; i < 12; ++i) CHECK(seen.item(i) == static_cast<double>(i));
  });
}

TEST_CASE("far: a checkpoint goes from one kind of device to the other, and both generate alike") {
  Course course = gpt(DType::float32, nn::OutputHead::tied);
  course.steps = 3;
  const TemporaryFolder first("first"), near_folder("near"), far_folder("far");
  run_near(course, first.path());

  Course rest = course;
  rest.steps = 6;
  rest.resumed_from = first.path();
  const Left near = run_near(rest, near_folder.path()), far = run_far(rest, far_folder.path());
  CHECK(near.losses.size() == 3);
  CHECK(far.same_as(near));

  const auto written = [&](Device& device) {
    const checkpoint::FileStorage storage(*checkpoint::latest_in(far_folder.path()));
    const auto model = checkpoint::load_for_inference(storage, "", course.recipe.model, device);
    return nn::generate(*model, {'A', ' '}, {.tokens = 20, .sequence = 12, .seed = 7},
                        [](std::int64_t) {});
  };
  CpuDevice cpu;
  FarDevice away;
  const auto text = written(cpu);
  CHECK(text.size() == 20);
  CHECK(written(away) == text);
}
