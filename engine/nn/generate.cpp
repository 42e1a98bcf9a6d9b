#include "engine/nn/generate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/random.hpp"

namespace lockstep::nn {
namespace {

// Logits of the token that follows `given`.
std::vector<double> next_logits(Module& model, std::span<const std::int64_t> given) {
  Device& device = model.parameters().front()->value.device();
  const auto length = std::ssize(given);
  const Tensor tokens = written_by_host(
      {1, length}, DType::int64, device, MemoryKind::buffers,
      [&](const Tensor& to) { std::ranges::copy(given, to.data<std::int64_t>().begin()); });
  Tape tape(GradMode::inference);
  const Tensor logits = model.forward(tape, tape.constant(tokens)).tensor;  // [1, T, V]
  const std::int64_t vocabulary = logits.shape().back();
  const Tensor row = to_host(logits.view({length, vocabulary}).narrow(length - 1, 1));
  std::vector<double> last;
  for (std::int64_t i = 0; i < vocabulary; ++i) {
    last.push_back(row.item(i));
    if (!std::isfinite(last.back())) {
      throw Error(text("generate: the model's logits are not finite; was its training cut short ",
                       "by a loss that was no number?"));
    }
  }
  return last;
}

// The tokens so far, and what the model keeps of them.
class Context {
 public:
  Context(Module& model, std::vector<std::int64_t> tokens, std::int64_t sequence)
      : model_(model), tokens_(std::move(tokens)), cache_{.room = sequence} {
    model_.prepare({.cache = &cache_});
  }
  ~Context() { model_.prepare({}); }  // the cache goes
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void add(std::int64_t token) { tokens_.push_back(token); }
  std::vector<double> next_logits() {
    const auto count = std::ssize(tokens_);
    std::int64_t given = count - cache_.tokens;
    if (count > cache_.room) {  // positions move
      model_.prepare({});
      given = cache_.room;
    }
    auto logits = nn::next_logits(model_, std::span(tokens_).last(static_cast<std::size_t>(given)));
    if (!cache_.layers.empty()) cache_.tokens = count;
    return logits;
  }

 private:
  Module& model_;
  std::vector<std::int64_t> tokens_;
  KeyValueCache cache_;
};

// A token with probability proportional to exp(logit / temperature), among the allowed ones.
std::int64_t drawn(const std::vector<double>& logits, const GenerateOptions& options,
                   double uniform) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
  if (options.temperature == 0) return static_cast<std::int64_t>(order.front());
  if (options.top_k > 0 && options.top_k < std::ssize(order)) {
    order.resize(static_cast<std::size_t>(options.top_k));
  }
  std::vector<double> sums;
  double sum = 0;
  for (const std::size_t token : order) {
    sum += std::exp((logits[token] - logits[order.front()]) / options.temperature);
    sums.push_back(sum);
  }
  const auto at = std::ranges::upper_bound(sums, uniform * sum) - sums.begin();
  return static_cast<std::int64_t>(
      order[static_cast<std::size_t>(std::min(at, std::ssize(order) - 1))]);
}

}  // namespace

std::vector<std::int64_t> generate(Module& model, std::vector<std::int64_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<void(std::int64_t token)>& each) {
  LOCKSTEP_CHECK(!prompt.empty(),
                 "generate: an empty prompt; the first token has nothing to follow");
  LOCKSTEP_CHECK(options.sequence >= 1, "generate: a model that sees ", options.sequence,
                 " tokens; it needs the last one at least");
  LOCKSTEP_CHECK(options.temperature >= 0 && options.top_k >= 0 && options.tokens >= 0,
                 "generate: temperature ", options.temperature, ", top k ", options.top_k,
                 ", tokens ", options.tokens, "; none is negative");
  Context context(model, std::move(prompt), options.sequence);
  std::vector<std::int64_t> added;
  for (std::int64_t n = 0; n < options.tokens; ++n) {
    added.push_back(drawn(context.next_logits(), options,
                          random_uniform(options.seed, static_cast<std::uint64_t>(n))));
    context.add(added.back());
    each(added.back());
  }
  return added;
}

}  // namespace lockstep::nn
