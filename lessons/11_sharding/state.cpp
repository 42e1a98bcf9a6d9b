// The model state of one rank under ZeRO's stages, in GB:
//   build/release/bin/state BILLIONS RANKS [PARAMETER GRADIENT OPTIMIZER]
// The last three are bytes per parameter. Without them, they are those of mixed precision with
// Adam: 2 for a 16-bit weight, 2 for its gradient, and 12 for a float32 master copy and two
// moments. Source: [ZERO20] figure 1
#include <iomanip>
#include <iostream>
#include <string>

#include "engine/base/error.hpp"

using namespace lockstep;

namespace {

struct State {
  double parameters, gradients, optimizer;  // bytes per parameter
};

void tell(const char* name, double billions, const State& state) {
  const auto column = [](double gigabytes) { std::cout << std::setw(12) << gigabytes; };
  std::cout << std::left << std::setw(8) << name << std::right;
  column(billions * state.parameters);
  column(billions * state.gradients);
  column(billions * state.optimizer);
  column(billions * (state.parameters + state.gradients + state.optimizer));
  std::cout << "\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 3 && count != 6) {
      throw UsageError("usage: state BILLIONS RANKS [PARAMETER GRADIENT OPTIMIZER]");
    }
    const double billions = std::stod(words[1]), n = std::stod(words[2]);
    State all{2, 2, 12};
    if (count == 6) all = {std::stod(words[3]), std::stod(words[4]), std::stod(words[5])};
    std::cout << "GB a rank parameters   gradients   optimizer         all\n"
              << std::fixed << std::setprecision(1);
    tell("whole", billions, all);
    tell("ZeRO 1", billions, {all.parameters, all.gradients, all.optimizer / n});
    tell("ZeRO 2", billions, {all.parameters, all.gradients / n, all.optimizer / n});
    tell("ZeRO 3", billions, {all.parameters / n, all.gradients / n, all.optimizer / n});
  } catch (const std::exception& error) {
    std::cerr << "state: " << error.what() << "\n";
    return 2;
  }
}
