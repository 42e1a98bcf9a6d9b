// A weight of 1 and 1000 updates of 0.001, in float32, in bfloat16, and in bfloat16 with a float32
// master copy.
#include <cstdio>

#include "engine/base/half.hpp"

namespace {

float rounded(float value) {
  return lockstep::half::float_of_bfloat16(lockstep::half::bfloat16_of(value));
}

void show(const char* words, double weight) { std::printf("%s %.3f\n", words, weight); }

}  // namespace

int main() {
  std::puts("\"Mixed precision with AdamW takes 8 bytes per parameter.\"");
  constexpr float update = 0.001F;
  float single = 1, alone = 1, master = 1;
  for (int step = 0; step < 1000; ++step) {
    single += update;
    alone = rounded(alone + rounded(update));
    master += update;
  }
  show("float32                      ", single);
  show("bfloat16 alone               ", alone);
  show("bfloat16, float32 master copy", rounded(master));
}
