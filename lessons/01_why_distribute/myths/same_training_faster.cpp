// One epoch of a million samples, 32 a rank: updates, and device-hours for ten epochs at one second
// a step and an efficiency of 0.8 above one rank.
#include <array>
#include <cstdio>

int main() {
  std::puts("\"Eight GPUs run the same training eight times as fast, for the same money.\"");
  constexpr int samples = 1'000'000, batch = 32, epochs = 10;
  for (const int ranks : std::array{1, 2, 8}) {
    const int share = (samples + ranks - 1) / ranks;
    const int updates = (share + batch - 1) / batch;
    const double efficiency = ranks == 1 ? 1.0 : 0.8;
    const double hours = updates * epochs / efficiency / 3600;
    std::printf("%d rank%s: %6d updates an epoch, %5.2f hours, %5.2f device-hours\n", ranks,
                ranks == 1 ? " " : "s", updates, hours, hours * ranks);
  }
}
