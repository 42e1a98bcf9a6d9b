// 13 samples on 4 ranks: what the ranks' accuracies average to, and what the accuracy is.
#include <array>
#include <cstdio>

int main() {
  std::puts("\"Average the accuracies of the ranks.\"");
  constexpr std::array<int, 4> samples{4, 3, 3, 3}, hits{4, 2, 3, 3};
  double mean = 0;
  int all_samples = 0, all_hits = 0;
  for (std::size_t rank = 0; rank < samples.size(); ++rank) {
    const double accuracy = static_cast<double>(hits[rank]) / samples[rank];
    std::printf("rank %zu: %d of %d, accuracy %.3f\n", rank, hits[rank], samples[rank], accuracy);
    mean += accuracy / static_cast<double>(samples.size());
    all_samples += samples[rank];
    all_hits += hits[rank];
  }
  std::printf("mean of the four accuracies   %.3f\n", mean);
  std::printf("accuracy on all %d samples    %.3f\n", all_samples,
              static_cast<double>(all_hits) / all_samples);
}
