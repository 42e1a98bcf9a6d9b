// Would the tests notice a wait less, a call on another stream, another count, type, operator or
// root? Paper lets each chance of that kind go wrong once, in the same place on all ranks, and each
// must be found: by an error, by a finding, or by other values. Here a part of them; by the tag
// [mutants] all. And calls that fail on one rank, and ranks that are killed at any time.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/nccl/gpu_ranks.hpp"
#include "tests/shared_memory.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

// What each rank made of it. Every buffer is written right before an operation and right after it,
// by kernels, so that neither wait of the operation can be missing.
class Program {
 public:
  explicit Program(GpuRank& self) : self_(self) {}

  Tensor brought(std::int64_t count, DType dtype, int salt) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>((self_.rank() * 7 + i * 3 + salt) % 11 + 1));
    }
    const Tensor made = from_values(values, {count}, dtype, self_.gpu);
    return made.clone();  // by a kernel
  }
  Tensor room(std::int64_t count, DType dtype) { return full({count}, 99, dtype, self_.gpu); }

  // `out` is what was made; `in` may be changed again.
  void after(Work work, const Tensor& out, const Tensor& in = {}) {
    work.wait();
    results_.push_back(out.clone());
    if (in.defined()) in.fill_(77);
  }

  std::string values() {
    std::string all;
    for (const Tensor& here : to_host(results_)) {
      for (std::int64_t i = 0; i < here.numel(); ++i) all += text(here.item(i), " ");
    }
    return all;
  }

 private:
  GpuRank& self_;
  std::vector<Tensor> results_;
};

std::string carry_out(GpuRank& self) {
  ProcessGroup& group = self.group;
  const int n = self.size(), me = self.rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  Program work(self);
  const Tensor sum = work.brought(13, DType::float32, 1);
  work.after(group.all_reduce_async(sum, ReduceOp::sum), sum);
  const Tensor most = work.brought(9, DType::int32, 2);
  work.after(group.all_reduce_async(most, ReduceOp::max), most);
  const Tensor product = work.brought(5, DType::float64, 3);
  work.after(group.reduce_async(product, 1, ReduceOp::product), product);
  const Tensor parts = work.brought(4 * n, DType::bfloat16, 4),
               part = work.room(4, DType::bfloat16);
  work.after(group.reduce_scatter_async(parts, part, ReduceOp::average), part);
  const Tensor shared = work.brought(7, DType::float16, 5);
  work.after(group.broadcast_async(shared, 1), shared);
  const Tensor mine = work.brought(6, DType::int64, 6), all = work.room(6 * n, DType::int64);
  work.after(group.all_gather_async(mine, all), all, mine);
  const Tensor at_root = me == 0 ? work.room(3 * n, DType::uint8) : Tensor();
  const Tensor given = work.brought(3, DType::uint8, 7);
  work.after(group.gather_async(given, at_root, 0), me == 0 ? at_root : given, given);
  const Tensor whole = me == 1 ? work.brought(3 * n, DType::int8, 8) : Tensor();
  const Tensor piece = work.room(3, DType::int8);
  work.after(group.scatter_async(whole, piece, 1), piece, whole);
  const Tensor out = work.brought(2 * n, DType::float32, 9), in = work.room(2 * n, DType::float32);
  work.after(group.all_to_all_async(out, in), in, out);
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < n; ++rank) counts.push_back(rank + 2);
  const Tensor own = work.brought(me + 2, DType::float32, 10);
  const Tensor together = work.room(n * (n + 3) / 2, DType::float32);
  work.after(group.all_gather_async(own, together, counts), together, own);
  for (int round = 0; round < 2; ++round) {
    const Tensor sent = work.brought(8, DType::float32, 11 + round);
    const Tensor received = work.room(8, DType::float32);
    Work sending = group.isend(sent, right);
    work.after(group.irecv(received, left), received);
    sending.wait();
    sent.fill_(55);
  }
  return work.values();
}

template <typename Function>
Function* of_paper(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// "what was struck|what was found|values", or what was thrown.
std::vector<Outcome> outcomes_of(int ranks, const std::vector<std::string>& settings) {
  GpuRun run{.timeout_s = 20, .blocks = gpu::Blocks::kept};
  run.findings = GpuRun::Findings::are_left;
  return run_gpus(
      ranks,
      [&](GpuRank& self) {
        const auto set = of_paper<int(const char*, const char*)>("paperConfigure");
        for (const std::string& setting : settings) {
          const auto at = setting.find('=');
          expect(set(setting.substr(0, at).c_str(), setting.substr(at + 1).c_str()) == 0, setting);
        }
        std::string values;
        try {
          values = carry_out(self);
        } catch (const Error& error) {
          values = text("threw: ", error.what());
        }
        self.gpu.settle();
        return text(of_paper<const char*()>("paperStruck")(), "|", gpu::paper_findings(), "|",
                    values);
      },
      run);
}

bool has_struck(const Outcome& outcome) { return !outcome.ok || !outcome.message.starts_with("|"); }

// A rank that is fine: nothing found, the values of the whole run ("||values").
bool is_whole(const Outcome& outcome, const Outcome& whole) {
  return outcome.ok && outcome.message.substr(outcome.message.find('|')) == whole.message;
}

struct Tally {
  int struck = 0;
  std::vector<std::string> survivors;
};

Tally each_chance(int ranks, const std::string& setting, int step,
                  const std::vector<std::string>& more = {}) {
  const auto whole = outcomes_of(ranks, {});
  for (const Outcome& outcome : whole) {
    INFO(outcome.message);
    REQUIRE(outcome.ok);
    REQUIRE(outcome.message.starts_with("||"));
    REQUIRE(outcome.message.find("threw") == std::string::npos);
  }
  Tally tally;
  for (int n = 1;; n += step) {
    std::vector<std::string> settings = more;
    settings.push_back(text(setting, "=", n));
    const auto outcomes = outcomes_of(ranks, settings);
    if (std::ranges::none_of(outcomes, has_struck)) return tally;
    ++tally.struck;
    bool noticed = false;
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      noticed |= !is_whole(outcomes[rank], whole[rank]);
    }
    if (!noticed) {
      tally.survivors.push_back(text(setting, "=", n, ": ", outcomes[0].message.substr(0, 60)));
    }
  }
}

std::string list_of(const std::vector<std::string>& all) {
  std::string list;
  for (const std::string& each : all) list += each + "\n";
  return list;
}

void check_all_are_noticed(int ranks, int step) {
  for (const std::string setting : {"skip_event_wait", "move_launch"}) {
    const Tally tally = each_chance(ranks, setting, step);
    INFO(setting << ": " << tally.struck << " changes");
    CHECK(tally.struck > 0);
    CHECK(list_of(tally.survivors) == "");
  }
  for (const std::string argument : {"count", "type", "operator", "root"}) {
    const Tally tally = each_chance(ranks, "edit_call", step, {"edit_as=" + argument});
    INFO(argument << ": " << tally.struck << " changes");
    CHECK(tally.struck > 0);
    CHECK(list_of(tally.survivors) == "");
  }
}

// Ranks that communicate for ever, of which one is killed at a time that `seed` draws.
void check_a_kill(std::uint64_t seed) {
  const int ranks = 2 + static_cast<int>(seed % 3);
  const auto killed = static_cast<std::size_t>(random_bits(seed, 1) % ranks);
  const auto after = std::chrono::microseconds(random_bits(seed, 2) % 50000);
  INFO("seed " << seed << ": rank " << killed << " of " << ranks << " is killed");
  GpuRun run{.timeout_s = 30};
  run.findings = GpuRun::Findings::are_left;
  const auto outcomes = run_gpus(
      ranks,
      [&](GpuRank& self) {
        std::jthread end;
        return error_of([&] {
          const int right = (self.rank() + 1) % ranks, left = (self.rank() + ranks - 1) % ranks;
          const Tensor x = full({500}, 1, DType::float32, self.gpu), y = x.clone();
          self.group.all_reduce(x, ReduceOp::max);
          self.gpu.settle();  // all have joined
          if (self.rank() == static_cast<int>(killed)) {
            end = std::jthread([&] {
              std::this_thread::sleep_for(after);
              kill(getpid(), SIGKILL);
            });
          }
          for (int turn = 0;; ++turn) {
            self.group.all_reduce(x, ReduceOp::max);
            Work sent = self.group.isend(x, right);
            self.group.recv(y, left);
            sent.wait();
            if (turn % 3 == 0) self.gpu.settle();
          }
        });
      },
      run);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    INFO("rank " << rank << " after " << outcomes[rank].seconds
                 << " s: " << outcomes[rank].message);
    CHECK(outcomes[rank].seconds < 20);
    CHECK(outcomes[rank].ok == (rank != killed));
    if (rank == killed) continue;
    CHECK_THAT(outcomes[rank].message, contains(text("rank ", killed)));
    CHECK_THAT(outcomes[rank].message, contains("500 float32 at tests/nccl/mutants_test.cpp"));
  }
}

}  // namespace

TEST_CASE("nccl mutants: a rank that is killed at any time is named, and nothing is left") {
  const auto before = shared_memory();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) check_a_kill(seed);
  CHECK(shared_memory_left(before).empty());
}

TEST_CASE("nccl mutants: a hundred kills", "[.all][kills]") {
  const auto before = shared_memory();
  for (std::uint64_t seed = 1; seed <= 100; ++seed) check_a_kill(seed);
  CHECK(shared_memory_left(before).empty());
}

TEST_CASE("nccl mutants: a wait less, another stream, count, type, operator or root are found") {
  check_all_are_noticed(2, 9);
}

TEST_CASE("nccl mutants: all of them are found", "[.all][mutants]") { check_all_are_noticed(3, 1); }
