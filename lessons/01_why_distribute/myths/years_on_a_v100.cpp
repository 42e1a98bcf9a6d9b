// GPT-3's training on one V100: 3.14e23 operations at several rates.
#include <array>
#include <cstdio>

int main() {
  std::puts("\"GPT-3 takes 355 years on a V100.\"");
  struct Rate {
    const char* words;
    double flops_per_s;
  };
  constexpr std::array<Rate, 3> rates{{{"28 TFLOP/s, as that estimate assumed", 28e12},
                                       {"40 % of the peak of 125 TFLOP/s", 0.4 * 125e12},
                                       {"the peak of 125 TFLOP/s", 125e12}}};
  constexpr double operations = 3.14e23, seconds_a_year = 365.0 * 86400;
  for (const Rate& rate : rates) {
    std::printf("%-38s %5.1f years\n", rate.words, operations / rate.flops_per_s / seconds_a_year);
  }
}
