// A kernel walks on by its grid's size until nothing is left, so that a grid of any size comes to
// the same bits. Paper leaves blocks out: loops over rows, tiles and packets then run, which a
// GPU's grids of 2,048 blocks would need millions of elements for.
#include <vector>

#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::vector<std::pair<std::string, Program>> programs(DType dtype) {
  return {
      {"moves", [=](Device& device) { return movements(dtype, device); }},
      {"elements", [=](Device& device) { return element_by_element(dtype, device, 193); }},
      {"norm of all", [=](Device& device) { return global_norms(dtype, device); }},
      {"updates", [=](Device& device) { return updates(1155, dtype, device); }},
      {"rows by number", [=](Device& device) { return rows_by_number(130, dtype, device); }},
      {"activations", [=](Device& device) { return activations(4611, dtype, device); }},
      {"between packets", [=](Device& device) { return activations(1155, dtype, device, 3); }},
      {"sums", [=](Device& device) { return sums(dtype, device); }},
      {"losses", [=](Device& device) { return losses(9, 147, dtype, device); }},
      {"long losses", [=](Device& device) { return losses(4, 1155, dtype, device); }},
      {"norms", [=](Device& device) { return norms(150, 33, dtype, device); }},
      {"long norms", [=](Device& device) { return norms(4, 1155, dtype, device); }},
      {"attention",
       [=](Device& device) {
         return attention({2, 37, 3, 4}, dtype, device);
       }},
      {"attention by products",
       [=](Device& device) {
         return attention({1, 37, 2, 129}, dtype, device);
       }},
  };
}

}  // namespace

TEST_CASE("gpu: a grid of one block, and of three, comes to the bits of the whole grid",
          "[paper]") {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const auto& [name, program] : programs(dtype)) {
      INFO(name << " " << name_of(dtype));
      OnPaper whole;
      const Results wanted = to_host(program(whole.device()));
      for (const char* grid : {"grid_max=1", "grid_max=3"}) {
        INFO(grid);
        OnPaper part({grid});
        const Results seen = to_host(program(part.device()));
        REQUIRE(seen.size() == wanted.size());
        for (std::size_t i = 0; i < seen.size(); ++i) {
          INFO("result " << i);
          CHECK(too_far(seen[i], wanted[i], same_bits) == "");
        }
        CHECK(part.findings() == "");
      }
    }
  }
}
