// One parameter w = 10, the loss of sample x is (w - x)^2 / 2, samples 1 to 6 on three ranks.
#include <cstdio>

int main() {
  std::puts("\"loss = output.sum() is fine for a demo.\"");
  constexpr int ranks = 3;
  constexpr double w = 10;
  double sum_on_one_device = 0, average_of_sums = 0;
  for (int x = 1; x <= 6; ++x) sum_on_one_device += w - x;
  for (int rank = 0; rank < ranks; ++rank) {
    double sum = 0;
    for (int x = 1 + rank; x <= 6; x += ranks) sum += w - x;
    std::printf("rank %d: gradient of its sum %.1f\n", rank, sum);
    average_of_sums += sum / ranks;
  }
  std::printf("average over the ranks         %.1f\n", average_of_sums);
  std::printf("one device, sum over all six   %.1f, %g times as large\n", sum_on_one_device,
              sum_on_one_device / average_of_sums);
  std::printf("one device, mean over all six  %.1f\n", sum_on_one_device / 6);
}
