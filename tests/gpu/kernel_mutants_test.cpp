// Would the tests notice a barrier less, a bound off by one, a mask with half the lanes? Every such
// instruction of every kernel of float32 is changed (kernel_mutations.hpp), and the case below that
// launches the kernel must then fail: by a finding of paper, or by another value. What nothing can
// tell apart is listed in kernel_survivors.txt, with the reason.
//
// A case runs in a process of its own, which paper's edit is told by the environment: once with the
// grids that the kernels ask for, once with a single block, which walks through everything.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gpu/kernel_mutations.hpp"
#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr DType f32 = DType::float32;

struct Case {
  std::string name;
  std::function<void(OnPaper& paper)> check;
};

Case beside_cpu(const char* name, const Program& program, Units units = same_bits) {
  return {name, [=](OnPaper& paper) { check_beside(paper, name, program, {units}); }};
}

void check_checksums(OnPaper& paper) {
  CpuDevice cpu;
  const Tensor here = noise({8300}, DType::uint8, cpu), there = to_device(here, paper.device());
  const std::vector<Tensor> near{here, here.narrow(3, 8203)}, away{there, there.narrow(3, 8203)};
  CHECK(checksums_of(away) == checksums_of(near));
  CHECK(paper.findings() == "");
}

void check_faults(OnPaper& paper) {
  Device& device = paper.device();
  const Tensor table = full({9, 2}, 1, f32, device);
  for (const auto& [place, index] :
       {std::pair{0, 9}, std::pair{299, -1}, std::pair{260, 1 << 30}}) {
    std::vector<double> indices(300, 8);
    indices[static_cast<std::size_t>(place)] = index;
    const Tensor rows = ops::embedding(table, integers(indices, device));
    CHECK_THROWS_WITH(to_host(rows), contains(text("index ", index, " ")));
  }
  CHECK_NOTHROW(to_host(ops::embedding(table, drawn_indices(300, 9, device))));
  const Tensor x = full({300}, 255, f32, device);
  CHECK_NOTHROW(to_host(x.to(DType::uint8)));
  x.narrow(200, 50).fill_(256);
  x.narrow(200, 1).fill_(-3);
  CHECK_THROWS_WITH(to_host(x.to(DType::uint8)), contains("-3 "));
  CHECK(paper.findings() == "");
}

// Sequences that end in each of the places where a tile is read.
Results attentions(Device& device) {
  Results all;
  for (const Attended& of : {Attended{2, 37, 3, 4}, Attended{1, 1, 1, 4}, Attended{1, 8, 1, 31},
                             Attended{1, 12, 1, 5}, Attended{1, 15, 1, 4}, Attended{1, 19, 1, 4},
                             Attended{1, 23, 1, 4}, Attended{1, 26, 1, 4}, Attended{1, 32, 1, 4}}) {
    for (const Tensor& each : attention(of, f32, device)) all.push_back(each);
  }
  return all;
}

// Of a grid of one block, each thread of 256 has four or five packets or elements here, of which
// the compiler has made a loop of four at once and a rest.
constexpr std::int64_t in_packets = 4611, between_packets = 1155;

Tensor window(std::int64_t count, Device& device, std::uint64_t stream) {
  return noise({3 + count}, f32, device, stream).narrow(3, count);
}

Results elements(Device& device) {
  Results all = element_by_element(f32, device, 193);
  const auto add = [&](const Tensor& a, const Tensor& b) {
    for (const Tensor& each :
         {ops::add(a, b), ops::subtract(a, b), ops::multiply(a, b), ops::scale(a, 0.3)}) {
      all.push_back(each);
    }
  };
  add(noise({in_packets}, f32, device), noise({in_packets}, f32, device, 1));
  add(window(between_packets, device, 2), window(between_packets, device, 3));
  for (const ReduceOp op : all_reduce_ops) {
    all.push_back(noise({in_packets}, f32, device));
    all.back().reduce_(noise({in_packets}, f32, device, 1), op);
    all.push_back(window(between_packets, device, 2));
    all.back().reduce_(window(between_packets, device, 3), op);
  }
  for (const Tensor& each :
       {zeros({in_packets}, f32, device), window(between_packets, device, 4)}) {
    each.fill_(3);
    all.push_back(each);
  }
  return all;
}

Results moves(Device& device) {
  Results all = movements(f32, device);
  for (const std::int64_t columns : {20, 18, 17}) {  // in units of 16, 8 and 4 bytes
    const Tensor x = noise({7, 33, columns}, f32, device);
    all.push_back(ops::narrow(x, 1, 1, 30));
    all.push_back(ops::transpose(x, 0, 1));
    all.push_back(ops::transpose(ops::narrow(x, 1, 0, 32).view({7, 4, 8, columns}), 1, 2));
    all.push_back(ops::transpose(x, 0, 2));
  }
  return all;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      beside_cpu("movement", moves),
      beside_cpu("elements", elements),
      beside_cpu("squares", [](Device& device) { return global_norms(f32, device); }),
      beside_cpu("updates", [](Device& device) { return updates(between_packets, f32, device); }),
      beside_cpu("gather", [](Device& device) { return rows_by_number(130, f32, device); }),
      beside_cpu("activations", [](Device& device) { return activations(in_packets, f32, device); },
                 {8, 2}),
      beside_cpu("activations between packets",
                 [](Device& device) { return activations(between_packets, f32, device, 3); },
                 {8, 2}),
      beside_cpu("sums", [](Device& device) { return sums(f32, device); }, {8, 90}),
      beside_cpu("losses", [](Device& device) { return losses(9, 147, f32, device); }, {16}),
      beside_cpu("long losses", [](Device& device) { return losses(3, 1155, f32, device); }, {16}),
      beside_cpu("norms", [](Device& device) { return norms(9, 147, f32, device); }, {16}),
      beside_cpu("many norms", [](Device& device) { return norms(150, 5, f32, device); }, {16}),
      beside_cpu("long norms", [](Device& device) { return norms(3, 1155, f32, device); }, {16}),
      beside_cpu("attention", attentions, {16}),
      beside_cpu("wide heads",
                 [](Device& device) {
                   return attention({1, 2, 1, 128}, f32, device);
                 },
                 {16}),
      {"checksums", check_checksums},
      {"faults", check_faults},
  };
  return all;
}

// The cases that launch each kernel.
std::map<std::string, std::vector<std::string>> cases_of_kernels() {
  std::map<std::string, std::vector<std::string>> users;
  for (const Case& each : cases()) {
    OnPaper paper;
    auto before = counted_on_paper();
    each.check(paper);
    for (const auto& [kernel, now] : counted_on_paper()) {
      if (now.launches > before[kernel].launches) users[kernel].push_back(each.name);
    }
  }
  return users;
}

// Those of wide heads are the same source once more.
bool is_of_wide_heads(const std::string& kernel) {
  return kernel.ends_with("<float, 128, 16>") || kernel.ends_with("<float, 64, 32>");
}

// "KERNEL KIND NUMBERS | why" as keys of mutations and reasons.
std::map<std::string, std::string> survivors() {
  std::map<std::string, std::string> all;
  std::ifstream file(LOCKSTEP_KERNEL_SURVIVORS);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t reason = line.find(" | "), numbers = line.rfind(' ', reason - 1);
    std::istringstream each(line.substr(numbers + 1, reason - numbers - 1));
    for (std::string number; std::getline(each, number, ',');) {
      all[line.substr(0, numbers + 1) + number] = line.substr(reason + 3);
    }
  }
  return all;
}

struct Ran {
  int status = 0;
  std::string said;
};

// This program again, with one case and one edit.
Ran run_with(const std::string& edit, const std::string& name) {
  const std::string command =
      text("PAPER_PTX_EDIT='", edit, "' PAPER_DEADLINE=20 PAPER_INSTRUCTIONS=20000000 /proc/",
           getpid(), "/exe mutant -c '", name, "' 2>&1");
  Ran ran;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part;
  for (std::size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    ran.said.append(part.data(), n);
  }
  ran.status = pclose(pipe);
  return ran;
}

// What told: a finding of paper, another value, or nothing.
std::string told_by(const Mutation& mutation, const std::vector<std::string>& users) {
  for (const std::string& user : users) {
    const Ran ran = run_with(mutation.edit, user);
    INFO(mutation.key << ": " << mutation.instruction << "\n" << ran.said.substr(0, 2000));
    CHECK_THAT(ran.said, !contains("ptx_edit"));  // it found its place
    if (ran.status == 0) continue;
    return ran.said.find("paper.findings() == \"\"") != std::string::npos ? "finding" : "value";
  }
  return "nothing";
}

}  // namespace

TEST_CASE("mutant", "[.mutant]") {
  for (const Case& each : cases()) {
    SECTION(each.name) {
      for (const char* grid : {"grid_max=0", "grid_max=1"}) {
        OnPaper paper({grid});
        each.check(paper);
      }
    }
  }
}

// One of each kind here, of kernels that have few; all of them by the case below.
TEST_CASE("gpu: a kernel that lost a barrier, a bound or half a mask is found out") {
  const auto users = cases_of_kernels();
  const auto spared = survivors();
  std::set<std::string> kinds;
  for (const Kernel& kernel : kernels_of_object()) {
    const auto used = users.find(kernel.name);
    if (used == users.end() || is_of_wide_heads(kernel.name)) continue;
    for (const Mutation& mutation : mutations_of(kernel)) {
      if (kinds.contains(mutation.kind) || spared.contains(mutation.key)) continue;
      kinds.insert(mutation.kind);
      INFO(mutation.key << ": " << mutation.instruction << " (line " << mutation.line << ")");
      CHECK(told_by(mutation, used->second) != "nothing");
    }
  }
  CHECK(kinds.size() == 7);
}

// Some minutes, by: bin/test_gpu_kernels '[mutants]', or of one kernel with: -c 'attend<float, 32,
// 32>' Prints, of each kernel: told by a finding, by a value, by nothing.
TEST_CASE("gpu: every changed instruction is found out, or listed", "[.all][mutants]") {
  static const auto users = cases_of_kernels();
  static const auto spared = survivors();
  static const auto kernels = kernels_of_object();
  for (const Kernel& kernel : kernels) {
    const auto used = users.find(kernel.name);
    if (used == users.end() || is_of_wide_heads(kernel.name)) continue;
    SECTION(kernel.name) {
      std::map<std::string, int> told;
      std::set<std::string> listed;
      for (const auto& [key, reason] : spared) {
        if (key.starts_with(kernel.name + " ")) listed.insert(key);
      }
      for (const Mutation& mutation : mutations_of(kernel)) {
        const std::string by = told_by(mutation, used->second);
        ++told[by];
        INFO(mutation.key << " | line " << mutation.line << ": " << mutation.instruction);
        CHECK((by == "nothing") == (listed.erase(mutation.key) > 0));
      }
      CHECK(listed.empty());  // no such instruction
      std::printf("| `%s` | %d | %d | %d |\n", kernel.name.c_str(), told["finding"], told["value"],
                  told["nothing"]);
      std::fflush(stdout);
    }
  }
}
