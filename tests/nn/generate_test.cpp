#include "engine/nn/generate.hpp"

#include <cmath>
#include <map>

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

}  // namespace

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
