// What a checkpoint needs, what is left of one that is interrupted, and who reads what:
//   build/release/bin/saving state      runs that resume with all of their state, or with a part
//   build/release/bin/saving ends       three ways to replace a file, ended at each of their calls
//   build/release/bin/saving calls      the calls of a save, and what loads if it ends after each
//   build/release/bin/saving interval   how often to save, and what share of the time is lost
//   build/release/bin/saving torn       a live state that is written while training goes on
//   build/release/bin/saving boxes      a [4, 6], saved by columns, wanted as flat ranges
//   build/release/bin/saving reads      bytes that a rank reads, beside those that it wants
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/strand/strand.hpp"
#include "lessons/17_fault_tolerance/noted_storage.hpp"

namespace lockstep::checkpoint {
namespace {

// A model that learns which of its inputs is the largest, on batches of an epoch of 30 steps.
struct Training {
  static constexpr std::int64_t batch = 16, inputs = 8, steps_of_epoch = 30;
  CpuDevice device;
  std::unique_ptr<nn::Module> model =
      nn::make_mlp(std::array<std::int64_t, 3>{inputs, 32, inputs}, DType::float64, device, 1);
  std::unique_ptr<optim::Optimizer> optimizer = new_optimizer();
  TrainState state;

  std::unique_ptr<optim::Optimizer> new_optimizer() const {
    return optim::make_adamw(model->parameters(), {.learning_rate = 0.01});
  }

  double step() {
    std::vector<double> x(static_cast<std::size_t>(batch * inputs)), labels;
    const auto place = static_cast<std::uint64_t>(state.taken * inputs);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = random_uniform(7, place + i);
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const auto first = x.begin() + sample * inputs;
      labels.push_back(static_cast<double>(std::max_element(first, first + inputs) - first));
    }
    Tape tape(GradMode::record);
    const Value input = tape.constant(from_values(x, {batch, inputs}, DType::float64, device));
    const Value loss = autograd::cross_entropy(tape, model->forward(tape, input),
                                               from_values(labels, {batch}, DType::int64, device));
    optimizer->zero_grad();
    tape.backward(loss);
    optimizer->step();
    ++state.step;
    state.taken = (state.taken + batch) % (steps_of_epoch * batch);
    return loss.tensor.item();
  }

  // Trains up to a step. Returns the losses by step, from 1.
  std::map<std::int64_t, double> train_to(std::int64_t last) {
    std::map<std::int64_t, double> losses;
    while (state.step < last) {
      const double loss = step();
      losses[state.step] = loss;
    }
    return losses;
  }
};

enum class Lost : std::uint8_t { nothing, optimizer, place };

// Resumes a run of 40 steps after 20 of them, without a part of its state.
std::map<std::int64_t, double> resumed(const Storage& storage, const std::string& folder,
                                       Lost lost) {
  Training run;
  const SavedRun saved(storage, folder);
  saved.load(*run.model, *run.optimizer);
  run.state = saved.state();
  if (lost == Lost::optimizer) run.optimizer = run.new_optimizer();
  if (lost == Lost::place) run.state.taken = 0;
  return run.train_to(40);
}

void state() {
  Training never_stopped, stopped;
  const auto right = never_stopped.train_to(40);
  stopped.train_to(20);
  MemoryStorage storage;
  const std::string folder =
      save(storage, contents_of(*stopped.model, *stopped.optimizer), stopped.state);
  std::cout << "loss of step        21         22         23         40\n" << std::fixed;
  const auto print = [](const char* name, const std::map<std::int64_t, double>& losses) {
    std::cout << name;
    for (const std::int64_t step : {21, 22, 23, 40}) {
      std::cout << "   " << std::setprecision(6) << losses.at(step);
    }
    std::cout << "\n";
  };
  print("never stopped ", right);
  int same = 0;
  for (const auto& [name, lost] : {std::pair{"all of it     ", Lost::nothing},
                                   {"no optimizer  ", Lost::optimizer},
                                   {"no place      ", Lost::place}}) {
    const auto losses = resumed(storage, folder, lost);
    print(name, losses);
    if (losses.at(22) == right.at(22)) ++same;
  }
  std::cout << same << " of 3 have the loss of step 22, in all bits\n";
}

// Wrong on purpose: for a while, the only checkpoint is half a file.
void in_place(Storage& storage, const std::string& file, const std::string& content) {
  storage.write(file, 0, std::as_bytes(std::span(content)));
}

// Wrong on purpose: the name may reach the disk before the bytes.
void renamed(Storage& storage, const std::string& file, const std::string& content) {
  storage.write(file + ".tmp", 0, std::as_bytes(std::span(content)));
  storage.rename(file + ".tmp", file);
}

void synced(Storage& storage, const std::string& file, const std::string& content) {
  storage.write(file + ".tmp", 0, std::as_bytes(std::span(content)));
  storage.sync(file + ".tmp");
  storage.rename(file + ".tmp", file);
  storage.sync("");  // the folder: its names
}

using Replace = void (*)(Storage&, const std::string&, const std::string&);

const std::string before = "step 10 begins, step 10 ends";
const std::string after = "step 20 begins, step 20 ends";

// The file that is found when the way has ended after so many calls. `over`: it did not end early.
// `seed` draws the pages that a power failure leaves.
std::string left_by(Replace way, std::int64_t calls, std::optional<PowerCut> power,
                    std::uint64_t seed, bool& over) {
  MemoryStorage storage;
  storage.make("");
  synced(storage, "index", before);
  storage.stop_after(calls);
  over = true;
  try {
    way(storage, "index", after);
  } catch (const CheckpointError&) {
    over = false;
  }
  if (power) {
    storage.start_again(*power, seed);
  } else {
    storage.start_again();
  }
  try {
    return read_text(storage, "index", 1 << 10);
  } catch (const CheckpointError&) {
    return "";
  }
}

// "1 of 3": ends of a way that may leave neither the old file nor the new one. A power failure may
// take what was not synced, or any part of it: names and bytes, bytes alone, or nothing.
std::string lost_by(Replace way, const std::vector<std::optional<PowerCut>>& cuts) {
  int lost = 0, ends = 0;
  for (bool over = false; !over; ++ends) {
    bool may_be_lost = false;
    for (const std::optional<PowerCut>& cut : cuts) {
      for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const std::string left = left_by(way, ends, cut, seed, over);
        may_be_lost = may_be_lost || (left != before && left != after);
      }
    }
    lost += may_be_lost ? 1 : 0;
  }
  return text(lost, " of ", ends);
}

void ends() {
  const std::vector<std::optional<PowerCut>> kill{std::nullopt};
  const std::vector<std::optional<PowerCut>> power{std::nullopt, PowerCut::loses_bytes,
                                                   PowerCut::loses_names_and_bytes};
  std::cout << "lost at                          kills   power failures\n";
  for (const auto& [name, way] : {std::pair{"written in place             ", &in_place},
                                  {"written beside, renamed      ", &renamed},
                                  {"beside, synced, renamed, synced", &synced}}) {
    std::cout << std::left << std::setw(32) << name << std::setw(10) << lost_by(way, kill)
              << lost_by(way, power) << "\n";
  }
}

// The checkpoint that a new process loads.
std::string loads_from(const Storage& storage) {
  const auto latest = latest_in(storage);
  return latest ? text("step ", SavedRun(storage, *latest).state().step) : "nothing";
}

// Saves step 20 beside step 10, which goes then, and ends after so many calls.
void save_20(Noted& storage, std::int64_t calls) {
  Training run;
  save(storage, contents_of(*run.model, *run.optimizer), {.step = 10});
  storage.end_after(calls);
  try {
    save(storage, contents_of(*run.model, *run.optimizer), {.step = 20}, {.keep_last = 1});
  } catch (const CheckpointError&) {  // as planned
  }
}

void calls() {
  Noted whole;
  save_20(whole, Noted::never);
  for (std::size_t i = 0; i < whole.calls().size(); ++i) {
    Noted storage;
    save_20(storage, static_cast<std::int64_t>(i + 1));
    storage.memory().start_again();
    std::cout << std::left << std::setw(54) << whole.calls()[i] << loads_from(storage.memory())
              << "\n";
  }
}

void interval() {
  constexpr double failure_s = 54 * 24 * 3600 / 419.0, bytes = 12 * 405e9;
  std::cout << std::fixed << std::setprecision(1) << "a failure every " << failure_s / 3600
            << " h\n                      a save      every    lost\n";
  for (const auto& [who, rate] :
       {std::pair{"one rank, 2 GB/s ", 2e9}, {"all ranks, 2 TB/s", 2e12}}) {
    const double save_s = bytes / rate, every_s = std::sqrt(2 * save_s * failure_s);
    std::cout << who << std::setw(9) << save_s << " s" << std::setw(7) << every_s / 60 << " min"
              << std::setw(6) << 100 * (save_s / every_s + every_s / (2 * failure_s)) << " %\n";
  }
}

using Write = std::function<void(const Contents& contents)>;

// Wrong on purpose: the pieces are views, and the next step changes what they look at.
std::unique_ptr<Strand> write_live(Strands& strands, const Contents& contents, const Write& write) {
  return strands.start("checkpoint", [contents, write] { write(contents); });
}

std::unique_ptr<Strand> write_copy(Strands& strands, const Contents& contents, const Write& write) {
  Contents copy = contents;
  for (Piece& piece : copy.pieces) piece.value = piece.value.clone();
  return strands.start("checkpoint", [copy, write] { write(copy); });
}

// Four tensors, whose elements all are the step. The writer comes to one of them after each step.
void torn() {
  const auto strands = make_thread_strands();
  for (const auto& [name, start] : {std::pair{"live:", &write_live}, {"copy:", &write_copy}}) {
    CpuDevice device;
    Contents contents{{}, "sgd"};
    for (int i = 0; i < 4; ++i) {
      contents.pieces.push_back({PieceKind::parameter,
                                 text("h.", i),
                                 {1},
                                 whole_of({1}),
                                 full({1}, 10, DType::float32, device)});
    }
    const auto monitor = strands->make_monitor();
    int steps = 0, written = 0;  // guarded by the monitor
    std::string file;
    const Write write = [&](const Contents& seen) {
      for (const Piece& piece : seen.pieces) {
        const std::scoped_lock inside(*monitor);
        monitor->wait([&] { return steps >= written; });
        file += text("  step ", piece.value.item());
        ++written;
        monitor->notify_all();
      }
    };
    const auto strand = start(*strands, contents, write);
    for (int step = 11; step <= 13; ++step) {
      const std::scoped_lock inside(*monitor);
      monitor->wait([&] { return written > steps; });
      for (const Piece& piece : contents.pieces) piece.value.fill_(step);
      ++steps;
      monitor->notify_all();
    }
    strand->join();
    std::cout << name << file << "\n";
  }
}

void boxes() {
  const ShardPlan saved{{{{0, 0}, {4, 3}}}, {{{0, 3}, {4, 6}}}};
  ShardPlan wanted;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    wanted.push_back(range_of(whole_of({4, 6}), 8 * rank, 8 * rank + 8));
  }
  for (int rank = 0; rank < 3; ++rank) {
    const auto plan = reshard(saved, wanted, rank);
    std::cout << "rank " << rank << " reads " << plan.size() << " stretches:";
    for (const Stretch& one : plan) {
      std::cout << " {" << one.source << ", " << one.offset << ", " << one.length << "}";
    }
    std::cout << "\n";
  }
}

// A [1024, 1024] in float32, which eight ranks have saved in flat ranges.
void reads() {
  const Shape shape{1024, 1024};
  CpuDevice device;
  MemoryStorage storage;
  const Draft draft = begin_save(storage, 10);
  std::vector<std::string> shares;
  for (int rank = 0; rank < 8; ++rank) {
    const std::int64_t each = numel_of(shape) / 8;
    const Piece piece{PieceKind::parameter, "weight", shape,
                      range_of(whole_of(shape), rank * each, (rank + 1) * each),
                      full({each}, rank, DType::float32, device)};
    shares.push_back(write_share(storage, draft, {rank, 8}, {{piece}, "sgd"}, {}));
  }
  commit_save(storage, draft, shares, {.step = 10}, {});
  const SavedRun run(storage, draft.folder);
  std::cout << "wanted by one of        bytes      read\n";
  for (const auto& [who, box] : {std::pair{"2 ranks, by rows   ", Box{{0, 0}, {512, 1024}}},
                                 {"8 ranks, by rows   ", Box{{0, 0}, {128, 1024}}},
                                 {"2 ranks, by columns", Box{{0, 0}, {1024, 512}}},
                                 {"8 ranks, by columns", Box{{0, 0}, {1024, 128}}}}) {
    const Tensor mine = empty({numel_of(box)}, DType::float32, device);
    const std::int64_t earlier = storage.bytes_read();
    run.weights().load_boxes(*run.weights().find("weight"), {box}, mine);
    const auto own = static_cast<double>(mine.bytes());
    const auto read = static_cast<double>(storage.bytes_read() - earlier);
    std::cout << who << std::fixed << std::setprecision(1) << std::setw(8) << own / 1e6 << " MB"
              << std::setw(7) << read / 1e6 << " MB, " << read / own << " times as much\n";
  }
}

const std::map<std::string, void (*)()> commands{
    {"state", state}, {"ends", ends},   {"calls", calls}, {"interval", interval},
    {"torn", torn},   {"boxes", boxes}, {"reads", reads}};

}  // namespace
}  // namespace lockstep::checkpoint

int main(int count, char** words) {
  using namespace lockstep;
  try {
    const auto& commands = checkpoint::commands;
    const auto found = commands.find(count == 2 ? words[1] : "");
    if (found == commands.end()) {
      throw UsageError("usage: saving state|ends|calls|interval|torn|boxes|reads");
    }
    found->second();
  } catch (const std::exception& error) {
    std::cerr << "saving: " << error.what() << "\n";
    return 2;
  }
}
