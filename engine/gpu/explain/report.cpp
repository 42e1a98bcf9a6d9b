#include "engine/gpu/explain/report.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <map>

#include "engine/base/text.hpp"

namespace lockstep::gpu {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  char line[512];
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

std::string percent(double share) { return formatted("%.0f %%", 100 * share); }

std::string a_request(std::uint64_t requests, double figure) {
  return requests == 0 ? "-" : formatted("%.2f", figure);
}

std::string short_time(double seconds) {
  return seconds < 1e-3 ? formatted("%.2g µs", 1e6 * seconds) : formatted("%.2g ms", 1e3 * seconds);
}

unsigned long long wide(std::uint64_t number) { return number; }  // as printf wants it

std::string what_ran(const CountedKernel& kernel) {
  return text("  ran        ", kernel.launches, kernel.launches == 1 ? " launch" : " launches",
              ", the largest of ", kernel.blocks, kernel.blocks == 1 ? " block" : " blocks", " of ",
              kernel.threads, " threads", "\n");
}

std::string requests(const Figures& is, std::uint64_t barriers) {
  std::string rows;
  if (is.device_requests > 0) {
    rows += formatted("  memory     %.2f sectors a request, %.2f needed\n", is.sectors_a_request(),
                      is.sectors_needed_a_request());
  }
  if (is.shared_requests > 0) {
    rows += formatted("  shared     %.2f passes a request, %.2f needed\n", is.passes_a_request(),
                      is.passes_needed_a_request());
  }
  rows += formatted("  lanes      %s active, %llu branches split a warp\n",
                    percent(is.lanes_active()).c_str(), wide(is.divergent_branches));
  if (barriers + is.atomics > 0) {
    rows += formatted("  also       %llu barriers, %llu atomic operations of lanes\n",
                      wide(barriers), wide(is.atomics));
  }
  return rows;
}

std::string processors(const Explanation& of) {
  std::string rows;
  for (const OnProcessor& on : of.processors) {
    rows += formatted(
        "  %-10s %d registers, %d bytes spilled, %d bytes of shared memory: %d of %d warps "
        "resident "
        "(%s), limited by %s\n",
        on.built.processor.c_str(), on.built.registers, on.built.spilled_bytes,
        on.built.shared_bytes, on.resident.warps, resident_warps_max,
        percent(double(on.resident.warps) / resident_warps_max).c_str(),
        on.resident.limited_by.c_str());
  }
  return rows;
}

std::string rooflines(const Explanation& of) {
  std::string rows;
  for (const OnRoof& on : of.roofs) {
    rows += formatted(
        "  roofline   %.2g operations a byte: %s keeps an %s busy (its ridge is at %.3g); a launch "
        "takes %s at least\n",
        of.flops_a_byte, on.by_memory ? "memory" : "arithmetic", on.roof.gpu.c_str(),
        on.roof.ridge(), short_time(on.least_s).c_str());
  }
  return rows;
}

std::string place_of(const std::string& file, int line) {
  return text(std::filesystem::path(file).filename().string(), ":", line);
}

std::string losses(const Explanation& of) {
  if (of.losses.empty()) {
    return formatted("\n  Nothing stands out: %s of the modelled cost is waste.\n",
                     percent(of.cost == 0 ? 0 : of.wasted / of.cost).c_str());
  }
  std::string rows = "\n  What it wastes, as a share of the modelled cost\n";
  for (const Loss& loss : of.losses) {
    rows += formatted("   %5s  %s:%d  ", percent(loss.share).c_str(), loss.file.c_str(), loss.line);
    rows += text(name(loss.cause), "\n          ", loss.sentence, "\n");
  }
  return rows;
}

std::string costs(const Explanation& of, std::size_t shown) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < std::min(shown, of.lines.size()); ++i) {
    places = std::max(places, place_of(of.lines[i].file, of.lines[i].counted.line).size());
  }
  std::string rows = formatted(
      "\n  Where the cost is, line by line (* wastes a tenth of its own or more)\n"
      "    cost  warp instr.  lanes  sectors/req.  passes/req.   splits    %-*s  source\n",
      static_cast<int>(places), "line");
  for (std::size_t i = 0; i < std::min(shown, of.lines.size()); ++i) {
    const ExplainedLine& line = of.lines[i];
    const Figures& is = line.counted.figures;
    rows += formatted("  %6s %12llu  %5s  %12s  %11s  %7s  %s %-*s  ",
                      percent(line.cost / of.cost).c_str(), wide(is.instructions),
                      percent(is.lanes_active()).c_str(),
                      a_request(is.device_requests, is.sectors_a_request()).c_str(),
                      a_request(is.shared_requests, is.passes_a_request()).c_str(),
                      is.divergent_branches == 0 ? "-" : text(is.divergent_branches).c_str(),
                      line.wasted >= 0.1 * line.cost ? "*" : " ", static_cast<int>(places),
                      place_of(line.file, line.counted.line).c_str());
    rows += line.source + "\n";
  }
  if (of.lines.size() > shown) {
    const std::size_t left = of.lines.size() - shown;
    rows += text("  and ", left, left == 1 ? " line that costs" : " lines that cost",
                 " less: --all shows all\n");
  }
  return rows;
}

const Explanation& costliest(const std::vector<const Explanation*>& variants) {
  return **std::ranges::max_element(variants, {}, [](const Explanation* of) { return of->cost; });
}

int most_registers(const std::vector<const Explanation*>& variants) {
  int most = 0;
  for (const Explanation* of : variants) {
    for (const OnProcessor& on : of->processors) most = std::max(most, on.built.registers);
  }
  return most;
}

std::string warps_of(const Explanation& of, const char* processor) {
  for (const OnProcessor& on : of.processors) {
    if (on.built.processor == processor) return text(on.resident.warps);
  }
  return "-";
}

}  // namespace

std::string report(const Explanation& of, std::size_t lines) {
  return text(of.counted.name, "    modelled: counted on paper, not measured on a GPU\n\n",
              what_ran(of.counted), requests(of.whole, of.counted.barriers), processors(of),
              rooflines(of), losses(of), costs(of, lines));
}

std::string list_of(std::span<const Explanation> all) {
  std::map<std::string, std::vector<const Explanation*>> families;
  for (const Explanation& of : all) families[family_of(of.counted.name)].push_back(&of);
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [family, variants] : families) {
    const Explanation& of = costliest(variants);
    const Figures& is = of.whole;
    const double waste = of.cost == 0 ? 0 : of.wasted / of.cost;
    rows.emplace_back(waste,
                      formatted("%-22s %8zu  %5s %13s %12s %7s %10d %7s %7s\n", family.c_str(),
                                variants.size(), percent(waste).c_str(),
                                a_request(is.device_requests, is.sectors_a_request()).c_str(),
                                a_request(is.shared_requests, is.passes_a_request()).c_str(),
                                percent(is.lanes_active()).c_str(), most_registers(variants),
                                warps_of(of, "sm_80").c_str(), warps_of(of, "sm_90").c_str()));
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string table = text(
      "modelled: counted on paper, not measured on a GPU; of each kernel the costliest variant\n",
      formatted("%-22s %8s  %5s %13s %12s %7s %10s %7s %7s\n", "kernel", "variants", "waste",
                "sectors/req.", "passes/req.", "lanes", "registers", "sm_80", "sm_90"));
  for (const auto& [waste, row] : rows) table += row;
  return table +
         "the last two: warps that a processor holds, of 64. Next: ./lab gpu explain KERNEL\n";
}

}  // namespace lockstep::gpu
