// A time says nothing without the rate that it assumes.
#include "engine/plan/training_time.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("GPT-3 takes 355 years on a V100.");
  // 6 · P · T = 3.14e23 operations [BMR20 table D.1]; a V100's peak is 125 TFLOP/s [NVV18].
  const plan::CountedRun gpt3{.parameters = 174'600'000'000, .tokens = 300'000'000'000};
  const auto years = [&](const char* words, double utilisation) {
    const double seconds = plan::training_time(gpt3, {125e12, utilisation}, 1).seconds;
    std::cout << "  " << words << seconds / (365.0 * 86400) << " years\n";
    return seconds / (365.0 * 86400);
  };
  std::cout << "300 billion tokens on one V100 of 125 TFLOP/s\n";
  const double assumed = years("at 28 TFLOP/s, as that estimate assumed  ", 28.0 / 125);
  const double usual = years("at 40 % of the peak                      ", 0.4);
  return myth::refuted_if(assumed > 350 && usual < 201,
                          "The 355 years assume 28 TFLOP/s; at a usual share of the peak, the "
                          "same operations take 200 years.");
}
