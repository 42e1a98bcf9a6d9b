// Moments and a master copy stay in float32, so mixed precision holds as many bytes as float32.
#include "engine/plan/model_memory.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("7 billion parameters need 84 GB, so an 80 GB card nearly suffices.");
  const auto gigabytes = [](plan::Precision precision) {
    const plan::Recipe adam{plan::UpdateRule::adam, precision};
    return static_cast<double>(plan::model_memory(7'000'000'000, adam, {}, 0).total) / 1e9;
  };
  const double alone = gigabytes(plan::Precision::bfloat16_alone);
  const double mixed = gigabytes(plan::Precision::bfloat16_with_master);
  std::cout << "7 billion parameters with Adam, without activations\n"
            << "  bfloat16 alone               " << alone << " GB\n"
            << "  bfloat16 with a master copy  " << mixed << " GB\n"
            << "  float32                      " << gigabytes(plan::Precision::float32) << " GB\n";
  return myth::refuted_if(alone == 84 && mixed > 80 * 1.3,
                          "84 GB is bfloat16 throughout; with the master copy that training "
                          "needs, it is a third more, before any activations.");
}
