// ./lab bench save: what a checkpoint costs a training, saved between its steps and beside them.
// Ranks train an MLP whose checkpoint has a given size, on a storage that writes as slowly as it is
// told to. Ranks that write together share its rate. For each way to save: the steps while the save
// is going on, how long the call took, when the commit was there, and the memory beside the step.
// The peer is PyTorch's torch.distributed.checkpoint.async_save, in a program of its own.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>
#include <thread>
#include <vector>

#include "engine/apps/bench_process.hpp"
#include "engine/apps/bench_report.hpp"
#include "engine/apps/host_products.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/base/units.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/launch/spawn.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategies/ddp.hpp"

namespace {

using namespace lockstep;
using bench::fixed;
using Seconds = std::chrono::duration<double>;

// Files that are written at a rate. Thread: one at a time.
class SlowStorage final : public checkpoint::Storage {
 public:
  explicit SlowStorage(std::filesystem::path folder) : files_(std::move(folder)) {}
  void set_rate(double bytes_per_s) { bytes_per_s_ = bytes_per_s; }
  // When a file was renamed last: the commit.
  std::chrono::steady_clock::time_point renamed() const { return renamed_; }

  std::string told(const std::string& name) const override { return files_.told(name); }
  void make(const std::string& folder) override { files_.make(folder); }
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override {
    constexpr std::size_t at_once = 1 << 20;
    auto due = std::chrono::steady_clock::now();
    do {
      const auto some = bytes.first(std::min(bytes.size(), at_once));
      files_.write(file, offset, some);
      due += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          Seconds(static_cast<double>(some.size()) / bytes_per_s_));
      std::this_thread::sleep_until(due);
      bytes = bytes.subspan(some.size());
      offset += some.size();
    } while (!bytes.empty());
  }
  void sync(const std::string& name) override { files_.sync(name); }
  void rename(const std::string& file, const std::string& to) override {
    files_.rename(file, to);
    renamed_ = std::chrono::steady_clock::now();
  }
  std::vector<checkpoint::Stored> list(const std::string& folder) const override {
    return files_.list(folder);
  }
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override {
    files_.read(file, offset, into);
  }
  void remove(const std::string& name) override { files_.remove(name); }

 private:
  checkpoint::FileStorage files_;
  double bytes_per_s_ = 1e9;
  std::chrono::steady_clock::time_point renamed_{};
};

struct Asked {
  int ranks;
  comm::Transport transport;
  double bytes, bytes_per_s;
  std::int64_t batch;
};

constexpr std::int64_t inputs = 1024, classes = 10;

// The width of two hidden layers, so that parameters and AdamW's two moments have so many bytes:
// h² + (1024 + 10)·h parameters, of 12 bytes.
std::int64_t hidden_of(double bytes) {
  const double linear = inputs + classes;
  const double h = (std::sqrt(linear * linear + bytes / 3) - linear) / 2;
  return std::max<std::int64_t>(1, std::llround(h));
}

train::Recipe recipe_of(double bytes) {
  const std::int64_t hidden = hidden_of(bytes);
  train::Recipe recipe;
  recipe.model.widths = {inputs, hidden, hidden, classes};
  recipe.optimizer.kind = optim::OptimizerKind::adamw;
  return recipe;
}

// A save, as rank 0 sees it.
struct MeasuredSave {
  std::string name;
  std::vector<double> steps_s{};  // that began before the commit
  double call_s = 0, committed_s = 0;
  std::int64_t memory_bytes = 0;  // beside the step, at most
};

class SavingRun {
 public:
  SavingRun(comm::ProcessGroup& group, const Asked& asked, const std::filesystem::path& folder)
      : group_(group),
        asked_(asked),
        device_(apps::host_products()),
        storage_(folder),
        strategy_(train::make_ddp_or_plain(train::TrainingRanks(group), device_,
                                           recipe_of(asked.bytes), {})),
        batches_{data::Batch{full({asked.batch, inputs}, 0.5, DType::float32, device_),
                             zeros({asked.batch}, DType::int64, device_)}} {}

  // Steps without a save, as many as one save takes.
  MeasuredSave measure_steps() {
    for (int warm = 0; warm < 3; ++warm) step();
    std::vector<double> some;
    for (int i = 0; i < 5; ++i) some.push_back(step());
    const Tensor told = full({1}, bench::median(some), DType::float64, device_);
    group_.broadcast(told, 0);
    const double save_s = asked_.bytes / asked_.bytes_per_s;
    count_ = std::max<std::int64_t>(5, std::llround(save_s / told.item()));
    MeasuredSave row{"no save"};
    for (std::int64_t i = 0; i < count_; ++i) row.steps_s.push_back(step());
    return row;
  }

  MeasuredSave measure_save(train::SaveForm form, Strands* beside) {
    const bool dense = form == train::SaveForm::dense;
    MeasuredSave row{
        text(dense ? "dense" : "sharded", beside != nullptr ? ", beside the steps" : "")};
    storage_.set_rate(asked_.bytes_per_s / (dense ? 1 : group_.size()));
    train::Saver saver(
        *strategy_,
        {.form = form, .optimizer = "adamw", .of_checkpoints = {.keep_last = 1}, .beside = beside},
        storage_);
    group_.barrier();
    device_.reset_peak();
    const std::int64_t before = device_.bytes_now();
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::pair<std::chrono::steady_clock::time_point, double>> steps;
    saver.save({.step = ++saves_});
    row.call_s = Seconds(std::chrono::steady_clock::now() - began).count();
    row.memory_bytes = device_.bytes_peak() - before;
    for (std::int64_t i = 0; i < count_; ++i) {
      const auto at = std::chrono::steady_clock::now();
      steps.emplace_back(at, step());
    }
    saver.finish();
    row.committed_s = Seconds(storage_.renamed() - began).count();
    for (const auto& [at, seconds] : steps) {
      if (beside == nullptr || at < storage_.renamed()) row.steps_s.push_back(seconds);
    }
    // A step waits for the call that comes before it.
    if (!row.steps_s.empty()) row.steps_s.front() += row.call_s;
    return row;
  }

 private:
  double step() {
    const auto began = std::chrono::steady_clock::now();
    strategy_->step(batches_, {.mode = nn::Mode::training}, 1e-4);
    return Seconds(std::chrono::steady_clock::now() - began).count();
  }

  comm::ProcessGroup& group_;
  const Asked& asked_;
  CpuDevice device_;
  SlowStorage storage_;
  std::unique_ptr<train::Strategy> strategy_;
  std::array<data::Batch, 1> batches_;
  std::int64_t count_ = 0, saves_ = 0;
};

constexpr int name = 28, column = 14;

void print_head() {
  std::cout << std::left << std::setw(name) << "" << std::right << std::setw(column) << "steps"
            << std::setw(column) << "median step" << std::setw(column) << "worst step"
            << std::setw(column) << "call" << std::setw(column) << "committed" << std::setw(column)
            << "memory"
            << "\n";
}

void print(const std::vector<MeasuredSave>& rows) {
  for (const MeasuredSave& row : rows) {
    const bool saves = row.committed_s > 0;
    std::cout << std::left << std::setw(name) << row.name << std::right << std::setw(column)
              << row.steps_s.size() << std::setw(column)
              << fixed(bench::median(row.steps_s), 3) + " s" << std::setw(column)
              << fixed(*std::ranges::max_element(row.steps_s), 3) + " s" << std::setw(column)
              << (saves ? fixed(row.call_s, 3) + " s" : "") << std::setw(column)
              << (saves ? fixed(row.committed_s, 2) + " s" : "") << std::setw(column)
              << (saves ? fixed(static_cast<double>(row.memory_bytes) / 1e6, 1) + " MB" : "")
              << "\n";
  }
}

void measure(comm::ProcessGroup& group, const Asked& asked, const std::filesystem::path& folder) {
  SavingRun run(group, asked, folder);
  const auto strands = make_thread_strands();
  std::vector<MeasuredSave> rows{run.measure_steps()};
  for (const auto form : {train::SaveForm::dense, train::SaveForm::sharded}) {
    rows.push_back(run.measure_save(form, nullptr));
    rows.push_back(run.measure_save(form, strands.get()));
  }
  if (group.rank() != 0) return;
  print_head();
  print(rows);
  std::cout << std::flush;
}

// The same of PyTorch, by its own program: DistributedDataParallel on as many ranks, of a thread
// each.
std::vector<MeasuredSave> measure_torch(bench::Runner& runner, const Asked& asked,
                                        const Arguments& arguments,
                                        const std::filesystem::path& folder) {
  bench::Meeting meeting;
  const auto command = bench::launched(
      asked.ranks, {arguments.get("torch-python"), arguments.get("torch-script"), "--meet",
                    meeting.next(), "--folder", folder.string(), "--hidden",
                    text(hidden_of(asked.bytes)), "--batch", text(asked.batch), "--bytes-per-s",
                    text(asked.bytes_per_s), "--save-s", text(asked.bytes / asked.bytes_per_s)});
  const bench::Json json = runner.run_for_json(command);
  std::vector<MeasuredSave> rows;
  try {
    for (const bench::Json& row : json.at("saves")) {
      rows.push_back({row.at("name"), row.at("steps_s"), row.value("call_s", 0.0),
                      row.value("committed_s", 0.0), row.value("memory_bytes", std::int64_t{0})});
    }
  } catch (const bench::Json::exception& error) {
    throw Error(text("the peer did not print the fields of a save (", error.what(),
                     "): ", bench::line_of(command)));
  }
  return rows;
}

int run(int argc, const char* const* argv) {
  Options options(
      "lab bench save",
      "Measures what a checkpoint costs the steps of a training, saved between them and "
      "beside them (--save-async), on slow storage.");
  options.option("ranks", "2", "ranks that train and save")
      .option("mb", "256", "size of a checkpoint, in megabytes")
      .option("mb-s", "20", "rate of the storage, in megabytes per second")
      .option("batch-size", "16", "samples per rank and step")
      .choice("transport", {"auto", "gloo", "shm"}, "auto", "how the ranks communicate")
      .option("folder", "", "where checkpoints are written (default: the folder for temporaries)")
      .choice("peer", {"none", "torch"}, "none", "PyTorch's async_save, measured behind ours")
      .option("torch-python", "python3", "a Python that has PyTorch; or set TORCH_PYTHON")
      .option("torch-script", "tests/bench/torch_save.py", "the peer's program");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const Asked asked{bench::ranks_of(arguments.get("ranks"), 1),
                    comm::transport_of(arguments.get("transport")),
                    arguments.number("mb", 0.1) * 1e6, arguments.number("mb-s", 0.01) * 1e6,
                    arguments.integer("batch-size", 1)};
  std::optional<TemporaryFolder> temporary;
  if (!arguments.given("folder")) temporary.emplace("bench-save");
  const std::filesystem::path folder =
      temporary ? temporary->path() : std::filesystem::path(arguments.get("folder"));
  const bool has_peer = arguments.has("--peer torch");
  if (has_peer) bench::Runner().require_torch(arguments.get("torch-python"), "save");
  const bench::Machine machine = bench::this_machine();
  std::cout << text("machine  ", machine.processor, ", ", counted(machine.cores, "core"), ", load ",
                    fixed(machine.load, 1), "\n", fixed(asked.bytes / 1e6, 1),
                    " MB of parameters and AdamW's state on ", counted(asked.ranks, "rank"),
                    ", storage of ", fixed(asked.bytes_per_s / 1e6, 1), " MB/s\n")
            << std::flush;
  launch::spawn(asked.ranks, [&](launch::World& world) {
    comm::GlooOptions gloo;
    gloo.transport = asked.transport;
    gloo.timeout_s = 3600;  // those that do not write wait as long as a save takes
    const auto group = comm::make_gloo_group(*world.store, world.environment.rank,
                                             world.environment.world_size, gloo);
    measure(*group, asked, folder / "saved");
  });
  if (has_peer) {
    bench::Runner runner;
    print(measure_torch(runner, asked, arguments, folder / "saved-by-torch"));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab bench save", [&] { return run(argc, argv); });
}
