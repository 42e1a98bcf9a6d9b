// A kernel walks on by its grid's size until nothing is left, so that a grid of any size comes to
// the same bits, near the CPU's. Paper leaves blocks out: loops over rows, tiles and packets then
// run, which a GPU's grids of 2,048 blocks would need millions of elements for.
#include <vector>

#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

struct Named {
  std::string name;
  Program program;
  Units wide = same_bits, half = same_bits;  // from the CPU's results, by their type
};

std::vector<Named> programs(DType dtype) {
  const Units wide{16}, half{2};
  return {
      {"moves", [=](Device& device) { return movements(dtype, device); }},
      {"elements", [=](Device& device) { return element_by_element(dtype, device, 193); }},
      {"norm of all", [=](Device& device) { return global_norms(dtype, device); }},
      {"updates", [=](Device& device) { return updates(1155, dtype, device); }},
      {"rows by number", [=](Device& device) { return rows_by_number(130, dtype, device); }},
      {"activations",
       [=](Device& device) { return activations(4611, dtype, device); },
       {8, 2},
       {1, 2}},
      {"between packets",
       [=](Device& device) { return activations(1155, dtype, device, 3); },
       {8, 2},
       {1, 2}},
      {"sums", [=](Device& device) { return sums(dtype, device); }, {8, 90}, {1, 90}},
      {"losses", [=](Device& device) { return losses(9, 147, dtype, device); }, wide, half},
      {"long losses", [=](Device& device) { return losses(4, 1155, dtype, device); }, wide, half},
      {"norms", [=](Device& device) { return norms(150, 33, dtype, device); }, wide, half},
      {"long norms", [=](Device& device) { return norms(4, 1155, dtype, device); }, wide, half},
      {"attention",
       [=](Device& device) {
         return attention({2, 37, 3, 4}, dtype, device);
       },
       wide, half},
      {"attention by products",
       [=](Device& device) {
         return attention({1, 37, 2, 129}, dtype, device);
       },
       wide, half},
  };
}

void check_grids(const Named& of, DType dtype) {
  INFO(of.name << " " << name_of(dtype));
  CpuDevice cpu;
  OnPaper whole;
  const Results near = of.program(cpu), wanted = to_host(of.program(whole.device()));
  REQUIRE(wanted.size() == near.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("result " << i);
    CHECK(too_far(wanted[i], near[i], is_half(near[i].dtype()) ? of.half : of.wide) == "");
  }
  for (const char* grid : {"grid_max=1", "grid_max=3"}) {
    INFO(grid);
    OnPaper part({grid});
    const Results seen = to_host(of.program(part.device()));
    REQUIRE(seen.size() == wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      INFO("result " << i);
      CHECK(too_far(seen[i], wanted[i], same_bits) == "");
    }
    CHECK(part.findings() == "");
  }
}

}  // namespace

TEST_CASE("gpu: a grid of one block, and of three, comes to the bits of the whole grid",
          "[paper]") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const Named& each : programs(dtype)) check_grids(each, dtype);
  }
  for (const DType dtype : all_dtypes) {
    check_grids({"reductions", [=](Device& device) { return reductions(dtype, device); }}, dtype);
  }
}
