// A model's layers come from a maker: whose they are, and where they lie, is its own affair.
#include "engine/nn/layer_maker.hpp"

#include "engine/nn/initialise.hpp"
#include "engine/nn/model_spec.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

nn::ModelSpec gpt_spec(nn::OutputHead head, std::shared_ptr<const nn::LayerMaker> layers) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 2, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11, .head = head};
  spec.layers = std::move(layers);
  return spec;
}

// Notes what is asked of it; its logits' loss is ten times the usual one.
class Noting final : public nn::LayerMaker {
 public:
  std::unique_ptr<nn::Module> norm(const std::string& name, std::int64_t width,
                                   const nn::Made& made) const override {
    return noted(name, LayerMaker::norm(name, width, made));
  }
  std::unique_ptr<nn::Module> attention(const std::string& name, std::int64_t width,
                                        std::int64_t heads, const nn::Deviations& deviations,
                                        const nn::Made& made) const override {
    return noted(name, LayerMaker::attention(name, width, heads, deviations, made));
  }
  std::unique_ptr<nn::Module> feed_forward(const std::string& name, std::int64_t width,
                                           std::int64_t hidden, const nn::Deviations& deviations,
                                           const nn::Made& made) const override {
    return noted(name, LayerMaker::feed_forward(name, width, hidden, deviations, made));
  }
  std::unique_ptr<nn::Module> embedding(Parameter& table) const override {
    return noted("embedding of " + table.name, LayerMaker::embedding(table));
  }
  std::unique_ptr<nn::Module> head(Parameter& table) const override {
    struct Head final : nn::Module {
      explicit Head(std::unique_ptr<nn::Module> made) : inner(std::move(made)) {}
      Value forward(Tape& tape, const Value& x) override {
        Value logits = inner->forward(tape, x);
        logits.loss = std::make_shared<const Loss>(
            [](Tape& on, const Value& given, const Tensor& labels, const auto& options) {
              Value plain = given;
              plain.loss = nullptr;
              return autograd::scale(on, autograd::cross_entropy(on, plain, labels, options), 10);
            });
        return logits;
      }
      std::vector<Parameter*> parameters() override { return inner->parameters(); }
      std::unique_ptr<nn::Module> inner;
    };
    return std::make_unique<Head>(noted("head of " + table.name, LayerMaker::head(table)));
  }

  mutable std::vector<std::string> made_layers;

 private:
  std::unique_ptr<nn::Module> noted(const std::string& name,
                                    std::unique_ptr<nn::Module> layer) const {
    made_layers.push_back(name);
    return layer;
  }
};

double loss_of(const nn::ModelSpec& spec) {
  CpuDevice device;
  const auto model = nn::make_model(spec, device, 3);
  const Tensor tokens =
      from_values(std::vector<double>{1, 5, 2, 9, 0, 10}, {1, 6}, DType::int64, device);
  Tape tape(GradMode::record);
  const Value logits = model->forward(tape, tape.constant(tokens));
  return autograd::cross_entropy(tape, logits, tokens).tensor.item();
}

}  // namespace

TEST_CASE("layer maker: every layer of a model is asked of its maker, and the loss is its own") {
  const auto maker = std::make_shared<Noting>();
  const nn::OutputHead head = GENERATE(nn::OutputHead::tied, nn::OutputHead::untied);
  const double whole = loss_of(gpt_spec(head, nullptr));
  CHECK(loss_of(gpt_spec(head, maker)) == 10 * whole);
  const std::string table = head == nn::OutputHead::tied ? "wte.weight" : "lm_head.weight";
  CHECK(maker->made_layers == std::vector<std::string>{"embedding of wte.weight", "h.0.ln_1",
                                                       "h.0.attn", "h.0.ln_2", "h.0.mlp",
                                                       "h.1.ln_1", "h.1.attn", "h.1.ln_2",
                                                       "h.1.mlp", "ln_f", "head of " + table});
}

TEST_CASE("layer maker: whose tokens are a slice has its positions") {
  // The embedding of tokens alone gives rows of zeros here, so that x is the positions.
  struct Sliced final : nn::LayerMaker {
    explicit Sliced(nn::TokenShare of) : share(of) {}
    nn::TokenShare tokens() const override { return share; }
    std::unique_ptr<nn::Module> embedding(Parameter& table) const override {
      struct Zeros final : nn::Module {
        explicit Zeros(std::int64_t parts, std::int64_t columns) : count(parts), width(columns) {}
        Value forward(Tape& tape, const Value& tokens) override {
          const Shape shape{tokens.tensor.size(0), tokens.tensor.size(1) / count, width};
          return tape.constant(
              full(shape, 0, DType::float64, tokens.tensor.device(), MemoryKind::activations));
        }
        std::vector<Parameter*> parameters() override { return {}; }
        std::int64_t count, width;
      };
      return std::make_unique<Zeros>(2, table.value.size(1));
    }
    nn::TokenShare share;
  };
  CpuDevice device;
  const std::int64_t length = GENERATE(6, 4);
  const Tensor tokens = full({2, length}, 1, DType::int64, device);
  for (const std::int64_t part : {0, 1}) {
    const nn::TokenShare half{[part](std::int64_t all) {
      return Positions{{part * all / 2, all / 2}};
    }};
    const auto spec = gpt_spec(nn::OutputHead::tied, std::make_shared<Sliced>(half));
    const auto unit = nn::make_units(spec, device, 3, {0, 1});
    Tape tape(GradMode::inference);
    const Tensor x = unit->forward(tape, tape.constant(tokens)).tensor;
    REQUIRE(x.shape() == Shape{2, length / 2, 8});
    const Tensor positions = unit->parameters().back()->value.narrow(part * length / 2, length / 2);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      CHECK(x.item(i) == positions.item(i % positions.numel()));
    }
  }
}

TEST_CASE("initialise: a part of a tensor has the numbers that the whole has there, then zeros") {
  CpuDevice device;
  const Tensor whole = nn::normal({6, 5}, 0.3, 77, DType::float64, device);
  const auto check = [&](const Boxes& boxes, const Shape& shape) {
    const Tensor part = nn::normal(shape, 0.3, 77, DType::float64, device, {6, 5}, boxes);
    const Tensor expected = cut(whole, boxes);
    REQUIRE(part.shape() == shape);
    for (std::int64_t i = 0; i < part.numel(); ++i) {
      CAPTURE(i);
      CHECK(part.item(i) == (i < expected.numel() ? expected.item(i) : 0));
    }
  };
  check({{{2, 0}, {4, 5}}}, {2, 5});
  check({{{2, 0}, {4, 5}}}, {3, 5});  // a row of padding
  check({{{0, 3}, {6, 5}}}, {6, 2});
  check({{{1, 0}, {2, 5}}, {{3, 0}, {4, 5}}, {{5, 0}, {6, 5}}}, {3, 5});
}
