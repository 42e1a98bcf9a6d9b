// bfloat16 has 8 bits: an update that is small against its weight vanishes without a master copy.
#include "engine/base/half.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

float rounded(float value) { return half::float_of_bfloat16(half::bfloat16_of(value)); }

}  // namespace

int main() {
  myth::claim("Mixed precision with AdamW takes 8 bytes per parameter.");
  const float update = 0.001F;
  float single = 1, alone = 1;
  for (int step = 0; step < 1000; ++step) {
    single += update;  // what a float32 master copy holds
    alone = rounded(alone + rounded(update));
  }
  std::cout << "a weight of 1 after 1000 updates of 0.001\n"
            << "  float32, at 16 bytes             " << single << "\n"
            << "  bfloat16 and a master copy, 16   " << rounded(single) << "\n"
            << "  bfloat16 throughout, 8           " << alone << "\n";
  return myth::refuted_if(alone == 1 && rounded(single) > 1.9F,
                          "In bfloat16 alone, an update below half a step of the weight is lost "
                          "each time, so mixed precision keeps a master copy: 16 bytes.");
}
