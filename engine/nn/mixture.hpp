// A mixture of experts, in the place of a block's feed-forward network: a router, and E networks of
// which a few compute each token. Its parameters are here. Who computes which token is decided
// elsewhere (engine/parallel/expert), for ranks may share the experts.
//   B batch, T tokens of all samples together, C width, E experts, K choices of a token
// Source: [SMM17] §2, [FZS21] §2
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/nn/layers.hpp"

namespace lockstep::nn {

// Tokens choose their experts, or experts their tokens.
enum class Router : std::uint8_t { tokens, experts };

struct MixtureOptions {
  std::int64_t experts = 0;  // E; 0: one network, and no router
  std::int64_t top_k = 1;    // K
  // An expert has slots for ⌈T·K/E·capacity⌉ tokens, or ⌈T/E·capacity⌉ if experts choose. Infinite:
  // for all.
  double capacity = std::numeric_limits<double>::infinity();
  Router router = Router::tokens;
  double aux_loss = 0;  // α, of the loss that balances the experts
  bool operator==(const MixtureOptions&) const = default;
};

// The choices of the routers of all blocks in a step.
struct Routing {
  std::int64_t experts = 0;  // E
  // How often each expert was chosen, block by block, [L·E]; also where it had no slot left.
  std::vector<double> load;
  // Choices without a slot; if experts choose, tokens that none of them took.
  double dropped = 0;
  double choices = 0;   // of which so many were dropped
  double aux_loss = 0;  // of all blocks together; of micro-batches, the mean by their weights
  // The largest load of an expert over the mean of its block; of all blocks, the largest.
  double imbalance() const;
};

// The layer's computation: tokens [T, C] → [T, C].
//   experts  those of this rank
using Mix = std::function<Value(Tape& tape, const Value& tokens, Linear& router,
                                std::span<const std::unique_ptr<Module>> experts,
                                const Occasion& occasion)>;

class Mixture final : public Module {
 public:
  //   mix  none: the module can be made, counted, saved and read, and on a device without numbers
  //        it costs what evenly dealt tokens cost; other passes throw ContractError
  Mixture(const std::string& name, std::int64_t width, const MixtureOptions& options,
          double deviation, std::vector<std::unique_ptr<Module>> experts, const Made& made,
          Mix mix = nullptr);
  Value forward(Tape& tape, const Value& x) override;  // [..., C] → [..., C]
  void prepare(const Occasion& occasion) override { occasion_ = occasion; }
  std::vector<Parameter*> parameters() override;

 private:
  Value dealt_evenly(Tape& tape, const Value& tokens);

  MixtureOptions options_;
  Linear router_;  // C → E, without a bias
  std::vector<std::unique_ptr<Module>> experts_;
  Mix mix_;
  Occasion occasion_;
};

// The name of expert e of a layer.
std::string name_of_expert(const std::string& layer, std::int64_t expert);

}  // namespace lockstep::nn
