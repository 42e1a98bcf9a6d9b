// How far paper's results are from the CPU's, operation by operation: the table of docs/gpu.md.
// Printed on demand, by: bin/test_gpu_kernels '[distances]'
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

using Distances = std::map<std::string, std::map<DType, double>>;

//   names   of the program's results; the names start again where results go on
void measure(Distances& distances, OnPaper& paper, const std::vector<std::string>& names,
             DType dtype, const Program& program, double magnitude = 0) {
  CpuDevice cpu;
  const Results wanted = program(cpu), seen = to_host(program(paper.device()));
  REQUIRE(seen.size() == wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    double& most = distances[names[i % names.size()]][dtype];
    most = std::max(most, distance(seen[i], wanted[i], magnitude));
  }
}

void measure_rows(Distances& distances, OnPaper& paper, DType dtype, std::int64_t rows,
                  std::int64_t width) {
  measure(distances, paper,
          {"softmax", "softmax_backward", "cross_entropy, loss", "cross_entropy, probabilities",
           "cross_entropy_backward", "cross_entropy, loss", "cross_entropy, probabilities",
           "cross_entropy_backward", "count_correct"},
          dtype, [&](Device& device) { return losses(rows, width, dtype, device); });
  measure(distances, paper,
          {"row_maximum", "row_maximum", "sum_of_exponentials", "picked_logits",
           "split_cross_entropy", "split_cross_entropy_backward", "split_cross_entropy_backward",
           "split_cross_entropy", "split_cross_entropy_backward", "split_cross_entropy_backward"},
          dtype, [&](Device& device) { return split_losses(rows, width, dtype, device); });
  measure(distances, paper,
          {"layer_norm", "layer_norm, mean", "layer_norm, inverse deviation", "rms_norm",
           "rms_norm, inverse deviation", "layer_norm backward, x", "layer_norm backward, weight",
           "layer_norm backward, bias", "rms_norm backward, x", "rms_norm backward, weight"},
          dtype, [&](Device& device) { return norms(rows, width, dtype, device); });
}

}  // namespace

TEST_CASE("gpu: distances from the CPU", "[.distances]") {
  OnPaper paper;
  Distances distances;
  for (const DType dtype : computed) {
    const auto all = [&](const std::string& name, const Program& program, double magnitude = 0) {
      measure(distances, paper, {name}, dtype, program, magnitude);
    };
    all("copies, moves, fills", [&](Device& d) { return movements(dtype, d); });
    all("add, subtract, multiply, scale, add_row, sum_rows, dropout",
        [&](Device& d) { return element_by_element(dtype, d); });
    all("sum_of_squares, clip_factor, unscale", [&](Device& d) { return global_norms(dtype, d); });
    all("sgd, adam", [&](Device& d) { return updates(257, dtype, d); });
    all("embedding, forward and backward",
        [&](Device& d) { return rows_by_number(130, dtype, d); });
    all(
        "sum_to", [&](Device& d) { return sums(dtype, d); }, 90);
    all("matmul", [&](Device& d) { return products(dtype, d); });
    std::vector<std::string> of_activations;
    for (const std::string name : {"relu", "gelu", "gelu_exact", "silu", "tanh", "sigmoid"}) {
      for (const char* which : {"", " backward", "", " backward"})
        of_activations.push_back(name + which);
    }
    for (const std::int64_t count : {1, 33, 257})
      measure(
          distances, paper, of_activations, dtype,
          [&](Device& d) { return activations(count, dtype, d); }, 2);
    for (const std::int64_t width : {1, 5, 8, 33, 130})
      measure_rows(distances, paper, dtype, 9, width);
    measure_rows(distances, paper, dtype, 3, 1100);
    for (const Attended& of :
         {Attended{2, 37, 3, 4}, Attended{1, 1, 1, 5}, Attended{1, 33, 1, 33},
          Attended{1, 40, 1, 64}, Attended{1, 70, 1, 100}, Attended{1, 40, 2, 128}})
      measure(distances, paper,
              {"causal_attention", "causal_attention, log_sums", "causal_attention_backward"},
              dtype, [&](Device& d) { return attention(of, dtype, d); });
    for (const Attended& of : {Attended{2, 37, 3, 129}, Attended{1, 259, 2, 136}})
      measure(distances, paper,
              {"products of causal_attention", "products of causal_attention, log_sums",
               "products of causal_attention_backward"},
              dtype, [&](Device& d) { return attention(of, dtype, d); });
  }
  for (const auto& [name, of] : distances) {
    std::printf("| %s |", name.c_str());
    for (const DType dtype : computed) std::printf(" %.2g |", of.at(dtype));
    std::printf("\n");
  }
  CHECK(paper.findings() == "");
}
