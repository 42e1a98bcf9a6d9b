// Launches: limits, registers, blocks and their barriers.
#include "engine/paper/machine/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "engine/paper/lanes/warp.hpp"
#include "engine/paper/machine/warp_runner.hpp"

namespace lockstep::paper {
namespace {

constexpr std::uint32_t threads_max = 1024, block_z_max = 64, grid_yz_max = 65535;
constexpr std::uint32_t grid_x_max = 0x7FFFFFFF;
constexpr std::size_t shared_max_default = 48 * 1024, shared_max_raised = 163 * 1024;
constexpr std::uint64_t instructions_between_looks = 1U << 18;  // at the clock
using WallClock = std::chrono::steady_clock;

std::string dimensions(const Dim3& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

struct FreeFile {
  void operator()(std::byte* file) const { ::operator delete[](file, std::align_val_t{64}); }
};

// One launch that runs.
class Run {
 public:
  Run(const Launch& launch, Memory& memory, Findings& findings, const Settings& settings,
      Counters& counters, std::uint64_t seed);
  Outcome all_blocks();
  void add_lines_to(KernelLines& kernel) const;

 private:
  void fill_constants(std::byte* file);
  enum class Specials { all, of_the_block };
  void fill_specials(Specials which);
  std::uint32_t special(Special which, std::uint32_t thread) const;
  Outcome one_block(std::uint32_t number);
  bool open_barrier();
  Outcome outcome_of_fault() const;
  bool out_of_time(std::uint64_t done);

  const Launch& launch_;
  const ptx::Kernel& kernel_;
  const Settings& settings_;
  Block block_;
  std::vector<std::unique_ptr<std::byte[], FreeFile>> files_;
  std::vector<WarpRunner> warps_;
  std::vector<LineCounters> by_instruction_;
  std::mt19937_64 random_;
  std::uint64_t instructions_ = 0, next_look_ = instructions_between_looks;
  WallClock::time_point begin_ = WallClock::now();
};

Run::Run(const Launch& launch, Memory& memory, Findings& findings, const Settings& settings,
         Counters& counters, std::uint64_t seed)
    : launch_(launch), kernel_(*launch.kernel), settings_(settings), random_(seed) {
  block_.memory = &memory;
  block_.findings = &findings;
  block_.counters = &counters;
  block_.kernel = &kernel_.demangled;
  block_.files = &kernel_.files;
  block_.size = launch.block;
  block_.grid = launch.grid;
  block_.threads = static_cast<std::uint32_t>(launch.block.volume());
  block_.operation = launch.operation;
  block_.checks = settings.checks;
  block_.counting = settings.counters;
  block_.parameters = launch.parameters;
  block_.local_bytes = kernel_.local_bytes;
  block_.local.resize(kernel_.local_bytes * block_.threads);
  block_.shared.resize(kernel_.static_shared + launch.dynamic_shared);
  if (settings.checks) block_.shadow.resize((block_.shared.size() + 3) / 4);
  if (settings.counters) by_instruction_.resize(kernel_.code.size());
  const std::uint32_t warps = (block_.threads + warp_lanes - 1) / warp_lanes;
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    const std::size_t bytes = std::max<std::size_t>(64, kernel_.file_bytes);
    files_.emplace_back(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
    if (warp == 0) {
      std::memset(files_[0].get(), 0, bytes);
      fill_constants(files_[0].get());
    } else {
      std::memcpy(files_[warp].get(), files_[0].get(), bytes);
    }
    warps_.emplace_back(block_, kernel_.code, by_instruction_, warp, files_.back().get());
  }
  fill_specials(Specials::all);
}

void Run::fill_constants(std::byte* file) {
  for (const Constant& constant : kernel_.constants) {
    std::uint64_t bits = constant.bits;
    if (constant.variable >= 0)
      bits += launch_.variables[static_cast<std::size_t>(constant.variable)];
    if (constant.width == 0) {
      std::memcpy(file + constant.place, &bits, 4);
      continue;
    }
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      std::memcpy(file + constant.place + lane * constant.width, &bits, constant.width);
    }
  }
}

std::uint32_t Run::special(Special which, std::uint32_t thread) const {
  const std::uint32_t lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Dim3 &size = block_.size, &grid = block_.grid, &index = block_.index;
  constexpr std::uint32_t multiprocessors = 8;
  switch (which) {
    case Special::tid_x:
      return thread % size.x;
    case Special::tid_y:
      return thread / size.x % size.y;
    case Special::tid_z:
      return thread / size.x / size.y;
    case Special::ntid_x:
      return size.x;
    case Special::ntid_y:
      return size.y;
    case Special::ntid_z:
      return size.z;
    case Special::ctaid_x:
      return index.x;
    case Special::ctaid_y:
      return index.y;
    case Special::ctaid_z:
      return index.z;
    case Special::nctaid_x:
      return grid.x;
    case Special::nctaid_y:
      return grid.y;
    case Special::nctaid_z:
      return grid.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp;
    case Special::nwarpid:
      return static_cast<std::uint32_t>(warps_.size());
    case Special::smid:
      return block_.number % multiprocessors;
    case Special::nsmid:
      return multiprocessors;
    case Special::lanemask_eq:
      return 1U << lane;
    case Special::lanemask_lt:
      return (1U << lane) - 1;
    case Special::lanemask_le:
      return (2U << lane) - 1;
    case Special::lanemask_gt:
      return ~((2U << lane) - 1);
    case Special::lanemask_ge:
      return ~((1U << lane) - 1);
    case Special::dynamic_smem_size:
      return static_cast<std::uint32_t>(launch_.dynamic_shared);
    case Special::total_smem_size:
      return static_cast<std::uint32_t>(block_.shared.size());
  }
  return 0;
}

// Those of the block are the same for all its threads; the others never change.
void Run::fill_specials(Specials which) {
  for (const auto& [register_, place] : kernel_.specials) {
    const bool of_the_block = register_ == Special::ctaid_x || register_ == Special::ctaid_y ||
                              register_ == Special::ctaid_z || register_ == Special::smid;
    if (which == Specials::of_the_block && !of_the_block) continue;
    for (std::uint32_t warp = 0; warp < warps_.size(); ++warp) {
      std::uint32_t values[warp_lanes];
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        values[lane] =
            of_the_block && lane > 0 ? values[0] : special(register_, warp * warp_lanes + lane);
      }
      std::memcpy(files_[warp].get() + place, values, sizeof values);
    }
  }
}

// All blocks, in an order that the seed draws: i -> (step * i + start) mod n.
Outcome Run::all_blocks() {
  const std::uint64_t count = block_.grid.volume();
  std::uint64_t step = random_() % count;
  while (std::gcd(step, count) != 1) ++step;
  const std::uint64_t start = random_() % count;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>((step * i + start) % count);
    if (const Outcome outcome = one_block(number); outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

void Run::add_lines_to(KernelLines& kernel) const {
  kernel.symbol = kernel_.name;
  const std::uint64_t blocks = block_.grid.volume();
  if (blocks * block_.threads > kernel.blocks * kernel.threads) {
    kernel.blocks = blocks;
    kernel.threads = block_.threads;
    kernel.dynamic_shared = launch_.dynamic_shared;
  }
  for (std::size_t i = 0; i < by_instruction_.size(); ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (by_instruction_[i].counters.instructions == 0 || instruction.line == 0) continue;
    const bool known = instruction.file < kernel_.files.size();
    kernel.lines[{known ? kernel_.files[instruction.file] : "", instruction.line}] +=
        by_instruction_[i];
  }
}

Outcome Run::outcome_of_fault() const {
  switch (block_.fault) {
    case Fault::misaligned:
      return Outcome::misaligned_address;
    case Fault::trap:
      return Outcome::illegal_instruction;
    case Fault::none:
    case Fault::illegal:
      break;
  }
  return Outcome::illegal_address;
}

bool Run::out_of_time(std::uint64_t done) {
  instructions_ += done;
  if (instructions_ < std::min(next_look_, settings_.instructions_max)) return false;
  next_look_ = instructions_ + instructions_between_looks;
  const std::chrono::duration<double> passed = WallClock::now() - begin_;
  if (instructions_ < settings_.instructions_max && passed.count() < settings_.deadline_s)
    return false;
  block_.tell(Kind::hang, 0,
              "after " + std::to_string(instructions_) + " instructions of warps and " +
                  std::to_string(static_cast<int>(passed.count())) +
                  " s this launch has not ended; a loop without an end, or one that waits for what "
                  "another block is to write?");
  return true;
}

Outcome Run::one_block(std::uint32_t number) {
  block_.begin(number);
  fill_specials(Specials::of_the_block);
  for (WarpRunner& warp : warps_) warp.begin();
  std::vector<std::uint32_t> ready(warps_.size());
  for (;;) {
    std::iota(ready.begin(), ready.end(), 0U);
    while (!ready.empty()) {
      const std::size_t pick = random_() % ready.size();
      // Mostly one warp is favoured for long; sometimes it is soon another one's turn.
      const std::uint64_t budget =
          random_() % 4 == 0 ? 1 + random_() % 64 : instructions_between_looks;
      WarpRunner& warp = warps_[ready[pick]];
      const std::uint64_t done = warp.run(budget);
      if (block_.fault != Fault::none) return outcome_of_fault();
      if (out_of_time(done)) return Outcome::timeout;
      if (!warp.runnable()) {
        ready[pick] = ready.back();
        ready.pop_back();
      }
    }
    if (!open_barrier()) return Outcome::done;
    ready.resize(warps_.size());
  }
}

// Every lane waits or has ended. False: all have ended.
bool Run::open_barrier() {
  std::uint32_t waiting = 0, first_thread = 0, pc = 0;
  bool at_different = false;
  for (std::uint32_t warp = 0; warp < warps_.size(); ++warp) {
    for (const WarpRunner::Group& group : warps_[warp].groups()) {
      if (waiting == 0) {
        pc = group.pc;
        first_thread = warp * warp_lanes + static_cast<std::uint32_t>(__builtin_ctz(group.lanes));
      }
      at_different = at_different || group.pc != pc;
      waiting += static_cast<std::uint32_t>(__builtin_popcount(group.lanes));
    }
  }
  if (waiting == 0) return false;
  if (at_different || waiting != block_.threads) {
    block_.running = &kernel_.code[pc - 1];
    block_.tell(Kind::divergent_barrier, first_thread,
                at_different
                    ? "threads of the block wait at different barriers; each __syncthreads() "
                      "must be reached by all of them"
                    : std::to_string(waiting) + " of " + std::to_string(block_.threads) +
                          " threads wait at this barrier, the others have ended; a return or "
                          "a condition before __syncthreads() must be the same for all");
  }
  ++block_.epoch;
  ++block_.counters->barriers;
  block_.result_true = std::exchange(block_.votes_true, 0);
  block_.result_votes = std::exchange(block_.votes, 0);
  for (WarpRunner& warp : warps_) warp.release();
  return true;
}

}  // namespace

Machine::Machine(Memory& memory, Findings& findings, const Settings& settings)
    : memory_(memory), findings_(findings), settings_(settings) {}

Outcome Machine::accept(const Launch& launch) {
  const ptx::Kernel& kernel = *launch.kernel;
  Where where;
  where.kernel = kernel.demangled;
  if (!kernel.refusal.empty()) {
    findings_.add(Kind::refused, where, "paper does not run this kernel: " + kernel.refusal);
    return Outcome::refused;
  }
  std::string why;
  const auto check = [&](auto fine, const std::string& sentence) {
    if (why.empty() && !fine) why = sentence;
  };
  const Dim3 &block = launch.block, &grid = launch.grid;
  check(grid.volume() != 0,
        "a grid of " + dimensions(grid) + " blocks is empty; launch nothing instead");
  check(block.volume() != 0, "a block of " + dimensions(block) + " threads is empty");
  check(block.x <= threads_max && block.y <= threads_max && block.volume() <= threads_max,
        "a block of " + dimensions(block) + " threads; a GPU takes 1024 at most");
  check(block.z <= block_z_max, "a block of " + dimensions(block) + " threads; z is 64 at most");
  check(block.volume() <= kernel.threads_max, "a block of " + std::to_string(block.volume()) +
                                                  " threads of a kernel with __launch_bounds__(" +
                                                  std::to_string(kernel.threads_max) + ")");
  check(grid.x <= grid_x_max && grid.y <= grid_yz_max && grid.z <= grid_yz_max,
        "a grid of " + dimensions(grid) + " blocks; a GPU takes 2^31-1 x 65535 x 65535 at most");
  check(grid.volume() < (std::uint64_t{1} << 32),
        "a grid of 2^32 blocks or more is not run on paper");
  const std::size_t limit =
      std::min(std::max(launch.dynamic_shared_max, shared_max_default), shared_max_raised);
  check(kernel.static_shared + launch.dynamic_shared <= limit,
        std::to_string(kernel.static_shared) + " + " + std::to_string(launch.dynamic_shared) +
            " bytes of shared memory; the limit is " + std::to_string(limit) +
            " (cudaFuncSetAttribute raises it, to 163 KiB)");
  check(launch.parameters.size() >= kernel.parameter_bytes,
        std::to_string(launch.parameters.size()) + " bytes of arguments for " +
            std::to_string(kernel.parameter_bytes) + " bytes of parameters");
  if (why.empty()) return Outcome::done;
  findings_.add(Kind::limit, where, why);
  return Outcome::invalid_configuration;
}

Outcome Machine::run(const Launch& launch) {
  if (const Outcome outcome = accept(launch); outcome != Outcome::done) return outcome;
  Counters& counters = counters_[launch.kernel->demangled];
  ++counters.launches;
  constexpr std::uint64_t salt = 0x9E3779B97F4A7C15ULL;
  Run run(launch, memory_, findings_, settings_, counters, settings_.seed + salt * ++launches_);
  const Outcome outcome = run.all_blocks();
  if (settings_.counters) run.add_lines_to(lines_[launch.kernel->demangled]);
  return outcome;
}

Counters Machine::counters() const {
  Counters all;
  for (const auto& [kernel, counters] : counters_) all += counters;
  return all;
}

}  // namespace lockstep::paper
