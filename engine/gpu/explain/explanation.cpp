#include "engine/gpu/explain/explanation.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::gpu {
namespace {

constexpr double clocks_a_sector = 2.4, clocks_a_pass = 1, clocks_an_instruction = 0.25;
constexpr double share_worth_a_sentence = 0.03;

double count(std::uint64_t number) { return static_cast<double>(number); }

double cost_of(const Figures& is) {
  return clocks_a_sector * count(is.sectors) + clocks_a_pass * count(is.bank_passes) +
         clocks_an_instruction * count(is.instructions);
}
double lost_to_sectors(const Figures& is) {
  return clocks_a_sector * (count(is.sectors) - count(is.sectors_needed));
}
double lost_to_banks(const Figures& is) {
  return clocks_a_pass * (count(is.bank_passes) - count(is.passes_needed));
}
double lost_to_idle_lanes(const Figures& is) {
  return clocks_an_instruction * (count(is.instructions) - count(is.lane_instructions) / 32);
}

// The lines of files, each file read once.
class Sources {
 public:
  explicit Sources(std::filesystem::path root) : root_(std::move(root)) {}

  std::string name_of(const std::string& file) const {
    const auto path = std::filesystem::path(file).lexically_normal();
    const auto seen = path.lexically_relative(root_);
    return seen.empty() || *seen.begin() == ".." ? path.string() : seen.string();
  }
  std::string line(const std::string& file, int number) {
    const auto [at, fresh] = files_.try_emplace(file);
    if (fresh) {
      std::ifstream lines(root_ / file);  // of an absolute path, that
      for (std::string line; std::getline(lines, line);) at->second.push_back(line);
    }
    if (number < 1 || static_cast<std::size_t>(number) > at->second.size()) return "";
    const std::string& line = at->second[static_cast<std::size_t>(number) - 1];
    const std::size_t first = line.find_first_not_of(" \t");
    return first == std::string::npos ? "" : line.substr(first);
  }

 private:
  std::filesystem::path root_;
  std::map<std::string, std::vector<std::string>> files_;
};

std::string rounded(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.3g", number);
  return digits;
}

std::string bytes_apart(const std::string& apart) {
  if (apart == "mixed" || apart == "-") return "places without a pattern";
  return "places " + apart + " bytes apart";
}

std::string about_sectors(const CountedLine& line) {
  const double asked = line.figures.sectors_a_request();
  const double needed = line.figures.sectors_needed_a_request();
  if (asked <= needed + 1) {
    return text(rounded(asked), " sectors a request, where ", rounded(needed),
                " hold the bytes: a warp's first lane is in the middle of a sector");
  }
  return text(rounded(asked), " sectors a request, where ", rounded(needed),
              " hold the bytes: neighbouring lanes go to ", bytes_apart(line.device_apart),
              "; let them go to neighbours in memory");
}

std::string about_banks(const CountedLine& line) {
  const std::string begin =
      text(rounded(line.figures.passes_a_request()), " passes a request, where ",
           rounded(line.figures.passes_needed_a_request()), " would do: neighbouring lanes go to ",
           bytes_apart(line.shared_apart), ", so that lanes meet in a bank");
  const long apart = std::atol(line.shared_apart.c_str());
  return apart != 0 && apart % 128 == 0 ? begin + "; pad each row of the array by one element"
                                        : begin;
}

std::string about_branch(const CountedLine& line, const Figures& whole) {
  return text("this branch splits a warp ", counted(line.figures.divergent_branches, "time"),
              ": its lanes then go one way after the other, and of the kernel's lanes ",
              rounded(100 * whole.lanes_active()), " % are active");
}

void find_losses(Explanation& of) {
  const auto add = [&](LossCause cause, const ExplainedLine& line, double lost,
                       std::string sentence) {
    const double share = lost / of.cost;
    if (share < share_worth_a_sentence) return;
    of.losses.push_back({cause, line.file, line.counted.line, share, std::move(sentence)});
  };
  // Lanes are idle behind a branch, not at it: the branches share what is lost, by how often they
  // split a warp.
  const double idle = lost_to_idle_lanes(of.whole), splits = count(of.whole.divergent_branches);
  for (const ExplainedLine& line : of.lines) {
    const Figures& is = line.counted.figures;
    add(LossCause::uncoalesced, line, lost_to_sectors(is), about_sectors(line.counted));
    add(LossCause::bank_conflict, line, lost_to_banks(is), about_banks(line.counted));
    if (is.divergent_branches == 0) continue;
    add(LossCause::divergence, line, idle * count(is.divergent_branches) / splits,
        about_branch(line.counted, of.whole));
  }
  std::ranges::stable_sort(of.losses, std::greater{}, &Loss::share);
}

OnRoof under(const Roof& roof, const Explanation& of) {
  const double launches = std::max(1.0, count(of.counted.launches));
  // The types of the template are all that is known of the arithmetic; twice as wide, half as fast.
  const bool wide = of.counted.name.find("<double") != std::string::npos;
  const double flops_s = wide ? roof.flops_s / 2 : roof.flops_s;
  const double by_memory = 32 * count(of.whole.sectors) / roof.bytes_s;
  const double by_arithmetic = count(of.whole.flops) / flops_s;
  return {roof, std::max(by_memory, by_arithmetic) / launches, by_memory >= by_arithmetic};
}

}  // namespace

std::string_view name(LossCause cause) {
  switch (cause) {
    case LossCause::uncoalesced:
      return "uncoalesced";
    case LossCause::bank_conflict:
      return "bank conflict";
    case LossCause::divergence:
      return "divergence";
  }
  return "?";
}

Explanation explain(const CountedKernel& kernel, std::span<const BuiltKernel> built,
                    std::span<const Roof> roofs, const std::filesystem::path& root) {
  Explanation of;
  of.counted = kernel;
  of.whole = kernel.whole();
  Sources sources(root);
  for (const CountedLine& line : kernel.lines) {
    ExplainedLine& made = of.lines.emplace_back();
    made.counted = line;
    made.file = sources.name_of(line.file);
    made.source = sources.line(made.file, line.line);
    made.cost = cost_of(line.figures);
    made.wasted = lost_to_sectors(line.figures) + lost_to_banks(line.figures) +
                  lost_to_idle_lanes(line.figures);
    of.cost += made.cost;
    of.wasted += made.wasted;
  }
  std::ranges::stable_sort(of.lines, std::greater{}, &ExplainedLine::cost);
  if (of.cost > 0) find_losses(of);
  if (of.whole.sectors > 0)
    of.flops_a_byte = count(of.whole.flops) / (32 * count(of.whole.sectors));
  for (const BuiltKernel& one : built) {
    if (one.symbol != kernel.symbol) continue;
    of.processors.push_back({one, resident(one, kernel.threads, kernel.dynamic_shared)});
  }
  for (const Roof& roof : roofs) of.roofs.push_back(under(roof, of));
  return of;
}

}  // namespace lockstep::gpu
