// How many samples DistributedSampler's padding repeats, and drop_last drops.
#include <array>
#include <cstdio>

int main() {
  std::puts("\"DistributedSampler gives the ranks shares that never overlap.\"");
  struct Case {
    int samples, ranks;
  };
  constexpr std::array<Case, 4> cases{{{10, 4}, {20'000, 3}, {50'000, 64}, {1'281'167, 256}}};
  for (const auto& [samples, ranks] : cases) {
    const int padded = (samples + ranks - 1) / ranks * ranks;
    std::printf("%8d samples on %3d ranks: %3d repeated, or %3d dropped\n", samples, ranks,
                padded - samples, samples % ranks);
  }
}
