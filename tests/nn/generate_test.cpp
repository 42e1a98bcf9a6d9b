#include "engine/nn/generate.hpp"

#include <cmath>
#include <map>
#include <set>

#include "engine/nn/gpt.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// A model whose next token is a function of the last one: its logits are rows of a table.
class Table final : public nn::Module {
 public:
  explicit Table(Device& device) {
    // After 0 comes 1, after 1 comes 2, after 2 comes 0 or 1 with odds 3 : 1.
    const double never = -1e9;
    const std::vector<double> rows = {never, 0, never, never, never, 0, std::log(3.0), 0, never};
    table_ = {"table", from_values(rows, {3, 3}, DType::float64, device), {}, {}};
  }
  Value forward(Tape& tape, const Value& input) override {
    longest = std::max(longest, input.tensor.size(1));
    return autograd::embedding(tape, tape.leaf(table_), input.tensor);
  }
  std::vector<Parameter*> parameters() override { return {&table_}; }

  std::int64_t longest = 0;

 private:
  Parameter table_;
};

const auto quiet = [](std::int64_t) {};

constexpr nn::GptOptions tiny{
    .layers = 2, .width = 16, .heads = 2, .sequence = 8, .vocabulary = 11};

// The most likely tokens, each from a pass over all that the model sees.
std::vector<std::int64_t> by_whole_passes(nn::Module& model, std::vector<std::int64_t> tokens,
                                          std::int64_t count, Device& device) {
  std::vector<std::int64_t> added;
  model.prepare({});
  while (std::ssize(added) < count) {
    const std::int64_t length = std::min(std::ssize(tokens), tiny.sequence);
    const std::vector<double> seen(tokens.end() - length, tokens.end());
    Tape tape(GradMode::inference);
    const Value input = tape.constant(from_values(seen, {1, length}, DType::int64, device));
    const Tensor logits = model.forward(tape, input).tensor;
    const std::int64_t last = (length - 1) * tiny.vocabulary;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < tiny.vocabulary; ++i) {
      if (logits.item(last + i) > logits.item(last + best)) best = i;
    }
    added.push_back(best);
    tokens.push_back(best);
  }
  return added;
}

}  // namespace

// Prompts of one token, of some, of all that the model sees, and of more; each text outgrows it.
TEST_CASE(
    "generate: keys and values that are kept change no token, until positions move and after") {
  CpuDevice device;
  const auto model = nn::make_gpt(tiny, DType::float64, device, 3);
  // Weights so large that the likeliest token depends on all of them.
  for (Parameter* p : model->parameters()) p->value.scale_(12);
  for (const std::int64_t length : {1, 3, 8, 10}) {
    CAPTURE(length);
    std::vector<std::int64_t> prompt;
    for (std::int64_t i = 0; i < length; ++i) prompt.push_back(7 * i % tiny.vocabulary);
    const auto wanted = by_whole_passes(*model, prompt, 14, device);
    CHECK(std::set(wanted.begin(), wanted.end()).size() > 2);
    CHECK(nn::generate(*model, prompt, {.tokens = 14, .sequence = 8, .temperature = 0}, quiet) ==
          wanted);
  }
}

TEST_CASE("generate: a token's pass computes that token only, and a model forgets what it kept") {
  CpuDevice device;
  const auto model = nn::make_gpt(tiny, DType::float64, device, 3);
  std::vector<double> flops{device.flops()};
  const std::int64_t before = device.bytes_now();
  nn::generate(*model, {1, 2, 3, 4}, {.tokens = 6, .sequence = 8},
               [&](std::int64_t) { flops.push_back(device.flops()); });
  CHECK(device.bytes_now() == before);
  std::vector<double> of_token;
  for (std::size_t i = 1; i < flops.size(); ++i) of_token.push_back(flops[i] - flops[i - 1]);
  for (const std::size_t n : {1, 2, 3, 4}) {  // tokens 5 to 8
    CHECK(of_token[n] < of_token[0] / 3);
    CHECK((n == 1 || of_token[n] > of_token[n - 1]));  // it sees one more
  }
  CHECK(of_token[5] > 2 * of_token[0] * 0.99);  // eight tokens, whose positions have moved
  // Without the cache, positions begin at 0 again.
  nn::generate(*model, {1, 2}, {.tokens = 5, .sequence = 8}, quiet);
  Tape tape(GradMode::inference);
  const Tensor eight = zeros({1, 8}, DType::int64, device);
  CHECK_NOTHROW(model->forward(tape, tape.constant(eight)));
}

TEST_CASE("generate: a cache takes one sample, up to its room, on a tape for inference") {
  CpuDevice device;
  const auto model = nn::make_gpt(tiny, DType::float64, device, 3);
  nn::KeyValueCache cache{.room = 4};
  const auto pass = [&](GradMode mode, Shape shape) {
    model->prepare({.cache = &cache});
    Tape tape(mode);
    model->forward(tape, tape.constant(zeros(std::move(shape), DType::int64, device)));
  };
  CHECK_NOTHROW(pass(GradMode::inference, {1, 3}));
  cache.tokens = 3;
  CHECK_THROWS_WITH(pass(GradMode::inference, {1, 2}),
                    test::contains("room for 4 tokens of one sample and holds 3"));
  CHECK_THROWS_WITH(pass(GradMode::inference, {2, 1}), test::contains("given those of [2, 1, 32]"));
  CHECK_THROWS_WITH(pass(GradMode::record, {1, 1}), test::contains("a tape for inference"));
  cache.tokens = 7;
  CHECK_THROWS_WITH(pass(GradMode::inference, {1, 2}), test::contains("expected [batch, up to 1]"));
}

TEST_CASE("generate: temperature 0 takes the likeliest token, and each is heard at once") {
  CpuDevice device;
  Table model(device);
  std::vector<std::int64_t> heard;
  const auto added = nn::generate(model, {0}, {.tokens = 5, .sequence = 3, .temperature = 0},
                                  [&](std::int64_t token) { heard.push_back(token); });
  CHECK(added == std::vector<std::int64_t>{1, 2, 0, 1, 2});
  CHECK(heard == added);
  CHECK(model.longest == 3);  // of the six tokens before the last it saw three
}

TEST_CASE("generate: draws follow the probabilities, the seed, and the k likeliest") {
  CpuDevice device;
  Table model(device);
  const auto after_two = [&](const nn::GenerateOptions& options) {
    const auto added = nn::generate(model, {2}, options, quiet);
    std::map<std::int64_t, int> count;
    std::int64_t last = 2;
    for (const std::int64_t token : added) {
      if (last == 2) ++count[token];
      last = token;
    }
    return count;
  };
  nn::GenerateOptions options{.tokens = 6000, .sequence = 1, .temperature = 1, .seed = 5};
  auto count = after_two(options);
  const double draws = count[0] + count[1];
  CHECK(count.size() == 2);
  // Some 2200 draws of probability 3/4 deviate by 0.009; this is four of them.
  CHECK(std::abs(count[0] / draws - 0.75) < 0.037);
  CHECK(after_two(options) == count);
  options.seed = 6;
  CHECK(after_two(options) != count);
  options.top_k = 1;
  CHECK(after_two(options)[1] == 0);
}

TEST_CASE("generate: no prompt, nothing to see, and logits that are no numbers are refused") {
  CpuDevice device;
  Table model(device);
  CHECK_THROWS_AS(nn::generate(model, {0}, {.sequence = 0}, quiet), ContractError);
  model.parameters()[0]->value.fill_(std::nan(""));
  CHECK_THROWS_AS(nn::generate(model, {0}, {}, quiet), Error);
  CHECK_THROWS_AS(nn::generate(model, {}, {}, quiet), ContractError);
}
