#include "engine/gpu/explain/paper_counts.hpp"

#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::gpu {
namespace {

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::vector<std::string> words_of(const std::string& row) {
  std::vector<std::string> words;
  std::istringstream rest(row);
  for (std::string word; std::getline(rest, word, '\t');) words.push_back(word);
  return words;
}

CountedKernel kernel_of(const std::vector<std::string>& words) {
  CountedKernel kernel{.name = words[1], .symbol = words[2]};
  kernel.launches = std::stoull(words[3]);
  kernel.blocks = std::stoull(words[4]);
  kernel.threads = std::stoi(words[5]);
  kernel.dynamic_shared = std::stoull(words[6]);
  kernel.barriers = std::stoull(words[7]);
  return kernel;
}

CountedLine line_of(const std::vector<std::string>& words) {
  CountedLine line{.file = words[1], .line = std::stoi(words[2])};
  Figures& is = line.figures;
  std::size_t next = 3;
  for (std::uint64_t* figure :
       {&is.instructions, &is.lane_instructions, &is.flops, &is.device_requests, &is.sectors,
        &is.sectors_needed, &is.shared_requests, &is.bank_passes, &is.passes_needed, &is.atomics,
        &is.divergent_branches}) {
    *figure = std::stoull(words[next++]);
  }
  line.device_apart = words[next++];
  line.shared_apart = words[next];
  return line;
}

}  // namespace

Figures& Figures::operator+=(const Figures& other) {
  instructions += other.instructions;
  lane_instructions += other.lane_instructions;
  flops += other.flops;
  device_requests += other.device_requests;
  sectors += other.sectors;
  sectors_needed += other.sectors_needed;
  shared_requests += other.shared_requests;
  bank_passes += other.bank_passes;
  passes_needed += other.passes_needed;
  atomics += other.atomics;
  divergent_branches += other.divergent_branches;
  return *this;
}

double Figures::lanes_active() const { return ratio(lane_instructions, 32 * instructions); }
double Figures::sectors_a_request() const { return ratio(sectors, device_requests); }
double Figures::sectors_needed_a_request() const { return ratio(sectors_needed, device_requests); }
double Figures::passes_a_request() const { return ratio(bank_passes, shared_requests); }
double Figures::passes_needed_a_request() const { return ratio(passes_needed, shared_requests); }

Figures CountedKernel::whole() const {
  Figures all;
  for (const CountedLine& line : lines) all += line.figures;
  return all;
}

std::string family_of(const std::string& name) { return name.substr(0, name.find('<')); }

std::vector<CountedKernel> read_paper_counts(std::string_view table) {
  std::vector<CountedKernel> kernels;
  std::istringstream rows{std::string(table)};
  for (std::string row; std::getline(rows, row);) {
    const std::vector<std::string> words = words_of(row);
    if (words.size() == 8 && words[0] == "kernel") {
      kernels.push_back(kernel_of(words));
    } else if (words.size() == 16 && words[0] == "line" && !kernels.empty()) {
      kernels.back().lines.push_back(line_of(words));
    } else {
      throw Error(text("paper's table has a row that does not read: '", row, "'; build all again"));
    }
  }
  return kernels;
}

}  // namespace lockstep::gpu
