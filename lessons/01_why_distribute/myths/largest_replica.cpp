// A replica is whole, so the largest model is that of one device, however many there are.
#include "engine/plan/model_memory.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Plain data parallelism reaches 7 to 10 billion parameters.");
  const std::int64_t room = 80'000'000'000;  // of each GPU, all of it for the model's state
  // In billions of parameters.
  const auto largest = [&](const char* words, plan::Precision precision) {
    const plan::Recipe adam{plan::UpdateRule::adam, precision};
    const std::int64_t bytes = plan::model_memory(1, adam, {}, 0).total;
    const double billions = static_cast<double>(room / bytes) / 1e9;
    std::cout << "  " << words << bytes << " bytes a parameter, " << billions << " billion\n";
    return billions;
  };
  std::cout << "the largest model with Adam whose replicas fit into 80 GB each\n";
  const double full = largest("float32                      ", plan::Precision::float32);
  const double mixed =
      largest("bfloat16 with a master copy  ", plan::Precision::bfloat16_with_master);
  const double alone = largest("bfloat16 alone               ", plan::Precision::bfloat16_alone);
  return myth::refuted_if(full < 7 && mixed < 7 && alone < 7,
                          "In 80 GB, a replica with Adam holds 5 to 6.7 billion parameters at "
                          "most, and activations come on top.");
}
