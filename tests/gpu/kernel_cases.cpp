// Which programs are compared, and how near.
#include "tests/gpu/kernel_cases.hpp"

#include <algorithm>
#include <iterator>

#include "tests/gpu/kernel_programs.hpp"

namespace lockstep::test {
namespace {

// What is allowed for results of float32 and float64, and of halves, which are rounded once more.
struct Allowed {
  Units wide = same_bits, half = same_bits;
};
constexpr Allowed near_cpu{{16}, {2}};

using ProgramOf = std::function<Results(DType dtype, Device& device)>;

KernelCase beside_cpu(const std::string& what, const ProgramOf& program, DType dtype,
                      const Allowed& allowed = {}) {
  const std::string name = dtype == DType::float32 ? what : text(name_of(dtype), ": ", what);
  return {name, [=](OnPaper& paper) {
            check_beside(
                paper, name, [=](Device& device) { return program(dtype, device); },
                [=](std::size_t, DType of) { return is_half(of) ? allowed.half : allowed.wide; });
          }};
}

std::vector<KernelCase> cases_of(DType dtype) {
  std::vector<KernelCase> all;
  const auto add = [&](const char* name, const ProgramOf& program, const Allowed& allowed = {}) {
    all.push_back(beside_cpu(name, program, dtype, allowed));
  };
  const Allowed of_slopes{{8, 2}, {1, 2}};
  add("movement", moves);
  add("elements", elements);
  if (is_half(dtype)) add("ends", ends);
  add("broadcasts", broadcasts);
  add("conversions", [](DType of, Device& device) { return conversions(of, 1155, device); });
  add("squares", squares);
  add("updates", [](DType of, Device& device) { return updates(between_packets, of, device); });
  add("gather", gathers);
  add(
      "activations",
      [](DType of, Device& device) { return activations(in_packets(of), of, device); }, of_slopes);
  add(
      "activations between packets",
      [](DType of, Device& device) { return activations(between_packets, of, device, 3); },
      of_slopes);
  add("sums", sums_of_axes, {{8, 90}, {1, 90}});
  add("losses", all_losses, near_cpu);
  add("long losses", long_losses, near_cpu);
  add(
      "norms",
      [](DType of, Device& device) {
        return norms_of({{9, 147}, {9, 208}, {9, 128}}, of, device);
      },
      near_cpu);
  add(
      "many norms",
      [](DType of, Device& device) {
        return norms_of({{330, 5},
                         {256, 35},
                         {448, 3},
                         {300, 3},
                         {512, 35},
                         {67, 3},
                         {4, 3},
                         {0, 300},
                         {0, 128}},
                        of, device);
      },
      near_cpu);
  add(
      "long norms",
      [](DType of, Device& device) {
        return norms_of({{3, 1155}, {3, 1600}}, of, device);
      },
      near_cpu);
  add("norms again", again, near_cpu);
  add("attention", attentions, near_cpu);
  add("merged blocks", merged_blocks, near_cpu);
  add("wide heads", wide_heads, near_cpu);
  add("wide heads of many tokens", wide_heads_of_many, near_cpu);
  add("widest heads", widest_heads, near_cpu);
  add("sharp heads", sharp_heads, near_cpu);
  return all;
}

}  // namespace

const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> all = [] {
    std::vector<KernelCase> cases = cases_of(DType::float32);
    cases.insert(cases.end(), {{"checksums", check_checksums},
                               {"faults", check_faults},
                               {"faulty conversions",
                                [](OnPaper& paper) { check_conversions(DType::float32, paper); }},
                               {"outside", check_outside}});
    return cases;
  }();
  return all;
}

const std::vector<KernelCase>& cases_of_other_types() {
  static const std::vector<KernelCase> all = [] {
    std::vector<KernelCase> cases;
    for (const DType dtype : all_dtypes) {
      if (dtype == DType::float32) continue;
      if (is_integer(dtype)) {
        cases.push_back(beside_cpu("movement", integer_moves, dtype));
        cases.push_back(beside_cpu("reductions", reductions, dtype));
        cases.push_back(beside_cpu("conversions", integer_conversions, dtype));
      } else {
        std::ranges::move(cases_of(dtype), std::back_inserter(cases));
      }
      cases.push_back({text(name_of(dtype), ": faulty conversions"),
                       [=](OnPaper& paper) { check_conversions(dtype, paper); }});
    }
    return cases;
  }();
  return all;
}

}  // namespace lockstep::test
