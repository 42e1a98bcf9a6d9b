// A transformer whose layers are shared by ranks: its weights are the dense model's, cut; its
// logits, where somebody reads them, are the dense model's.
#include "engine/parallel/tensor/tensor_layers.hpp"

#include <cmath>

#include "engine/nn/generate.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/tensor/cuts.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_fibers;
using tensor_parallel::Sequence;
using tensor_parallel::TensorLayers;

namespace {

// A vocabulary that no number of ranks here divides.
nn::ModelSpec gpt_spec(nn::OutputHead head) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 2, .width = 16, .heads = 8, .sequence = 8, .vocabulary = 29, .head = head};
  return spec;
}

nn::ModelSpec shared(nn::ModelSpec spec, comm::ProcessGroup& group, Sequence sequence) {
  spec.layers = std::make_shared<TensorLayers>(group, sequence);
  return spec;
}

Tensor some_tokens(Device& device) {
  std::vector<double> values;
  for (int i = 0; i < 3 * 8; ++i) values.push_back((11 * i + 3) % 29);
  return from_values(values, {3, 8}, DType::int64, device);
}

Tensor logits_of(nn::Module& model, Device& device) {
  Tape tape(GradMode::inference);
  model.prepare({});
  return model.forward(tape, tape.constant(some_tokens(device))).tensor;
}

}  // namespace

TEST_CASE(
    "tensor layers: a cache holds the keys and values of a rank's heads, and changes no logits") {
  const int ranks = GENERATE(1, 2, 4, 8);
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const nn::ModelSpec spec = shared(gpt_spec(nn::OutputHead::tied), group, Sequence::whole);
    const auto model = nn::make_model(spec, device, 5);
    const Tensor tokens = some_tokens(device).narrow(0, 1);  // [1, 8]
    const auto logits = [&](std::int64_t first, std::int64_t count) {
      Tape tape(GradMode::inference);
      const Tensor some = tokens.view({8}).narrow(first, count).view({1, count});
      return model->forward(tape, tape.constant(some)).tensor;
    };
    model->prepare({});
    const Tensor whole = logits(0, 8);
    nn::KeyValueCache cache{.room = 8};
    model->prepare({.cache = &cache});
    for (const auto& [first, count] : {std::pair{0, 3}, {3, 1}, {4, 1}, {5, 3}}) {
      const Tensor some = logits(first, count);
      for (std::int64_t i = 0; i < count * 29; ++i) {
        CHECK(std::abs(some.item(i) - whole.item(first * 29 + i)) < 1e-12);
      }
      cache.tokens += count;
    }
    REQUIRE(cache.layers.size() == 2);
    for (const auto& [layer, held] : cache.layers) {
      CHECK(held.shape() == Shape{8, 2 * 16 / ranks});
    }
    model->prepare({});
  });
}

TEST_CASE("tensor layers: a rank's weights are its boxes of the dense model's, then zeros") {
  const int ranks = GENERATE(1, 2, 4, 8);
  const nn::OutputHead head = GENERATE(nn::OutputHead::tied, nn::OutputHead::untied);
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const nn::ModelSpec spec = gpt_spec(head);
    const nn::ModelSpec mine = shared(spec, group, Sequence::whole);
    const auto dense = nn::make_model(spec, device, 5), model = nn::make_model(mine, device, 5);
    const auto whole = dense->parameters(), parts = model->parameters();
    REQUIRE(whole.size() == parts.size());
    for (std::size_t p = 0; p < whole.size(); ++p) {
      CAPTURE(whole[p]->name);
      REQUIRE(parts[p]->name == whole[p]->name);
      REQUIRE(parts[p]->whole_shape() == whole[p]->value.shape());
      const Tensor expected = cut(whole[p]->value, mine.layers->holding_of(*parts[p]).boxes);
      for (std::int64_t i = 0; i < parts[p]->value.numel(); ++i) {
        CHECK(parts[p]->value.item(i) == (i < expected.numel() ? expected.item(i) : 0));
      }
    }
  });
}

TEST_CASE("tensor layers: each element of a weight that is cut is on exactly one rank") {
  using tensor_parallel::Cut;
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  const auto check = [&](const char* name, Cut cut, const Shape& whole) {
    CAPTURE(name, ranks);
    CHECK(tensor_parallel::cut_of(name) == cut);
    std::int64_t held = 0;
    Boxes left = whole_of(whole);
    for (int rank = 0; rank < ranks; ++rank) {
      const Boxes mine = tensor_parallel::boxes_of(cut, whole, ranks, rank);
      CHECK(numel_of(mine) <= numel_of(tensor_parallel::held_shape(cut, whole, ranks)));
      held += numel_of(mine);
      for (const Box& hole : mine) {
        Boxes rest;
        for (const Box& box : left) {
          for (const Box& part : without(box, hole)) rest.push_back(part);
        }
        left = rest;
      }
    }
    CHECK(held == numel_of(whole));
    CHECK(numel_of(left) == 0);
  };
  check("h.0.attn.c_attn.weight", Cut::qkv_rows, {72, 24});
  check("h.0.attn.c_attn.bias", Cut::qkv_rows, {72});
  check("h.1.attn.c_proj.weight", Cut::columns, {24, 24});
  check("h.1.mlp.c_fc.weight", Cut::rows, {96, 24});
  check("h.1.mlp.c_fc.bias", Cut::rows, {96});
  check("h.1.mlp.c_proj.weight", Cut::columns, {24, 96});
  check("wte.weight", Cut::vocabulary, {29, 24});
  check("lm_head.weight", Cut::vocabulary, {5, 24});  // ranks of padding alone
  for (const char* name : {"wpe.weight", "h.0.ln_1.weight", "h.0.attn.c_proj.bias",
                           "h.0.mlp.c_proj.bias", "ln_f.bias"}) {
    CAPTURE(name);
    CHECK(tensor_parallel::cut_of(name) == Cut::whole);
  }
}

TEST_CASE("tensor layers: logits on a tape for inference are whole, and the dense model's") {
  const int ranks = GENERATE(1, 2, 4);
  const auto sequence = GENERATE(Sequence::whole, Sequence::sliced);
  const nn::OutputHead head = GENERATE(nn::OutputHead::tied, nn::OutputHead::untied);
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const nn::ModelSpec spec = gpt_spec(head);
    const auto dense = nn::make_model(spec, device, 5);
    const auto model = nn::make_model(shared(spec, group, sequence), device, 5);
    const Tensor expected = logits_of(*dense, device), seen = logits_of(*model, device);
    REQUIRE(seen.shape() == expected.shape());
    for (std::int64_t i = 0; i < seen.numel(); ++i) {
      CHECK(std::abs(seen.item(i) - expected.item(i)) < 1e-13);
    }
    if (sequence == Sequence::sliced) return;  // --sp needs tokens that the ranks divide
    const auto nobody = [](std::int64_t) {};
    const nn::GenerateOptions options{.tokens = 5, .sequence = 8};
    CHECK(nn::generate(*model, {3}, options, nobody) == nn::generate(*dense, {3}, options, nobody));
  });
}

TEST_CASE("tensor layers: partial gradients are summed in one all-reduce, and none sends nothing") {
  on_fibers(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const TensorLayers layers(group, Sequence::sliced);
    const auto norm = [&](const char* name) {
      return Parameter{name,
                       zeros({8}, DType::float64, device),
                       full({8}, group.rank() + 1, DType::float64, device),
                       {}};
    };
    Parameter weight = norm("h.0.ln_1.weight"), bias = norm("h.0.ln_1.bias");
    const std::vector<Parameter*> both{&weight, &bias};
    const std::int64_t sent = group.traffic().bytes_sent, messages = group.traffic().messages_sent;
    layers.sum_partial_gradients({});
    CHECK(group.traffic().bytes_sent == sent);
    layers.sum_partial_gradients(both);
    CHECK(weight.grad.item(7) == 3);
    CHECK(bias.grad.item(0) == 3);
    CHECK(group.traffic().bytes_sent - sent == 16 * 8);
    // One sum's messages, not one a parameter.
    const std::int64_t of_both = group.traffic().messages_sent - messages;
    group.all_reduce(weight.grad, ReduceOp::sum);
    CHECK(group.traffic().messages_sent - messages == 2 * of_both);
  });
}

TEST_CASE("tensor layers: heads that ranks do not divide, and tokens, are told with the nearest") {
  on_fibers(3, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    CHECK_THROWS_WITH(
        nn::make_model(shared(gpt_spec(nn::OutputHead::tied), group, Sequence::whole), device, 5),
        contains("8 heads do not divide among 3 tensor-parallel ranks; the nearest that do are 6 "
                 "and 9"));
    nn::ModelSpec spec = gpt_spec(nn::OutputHead::tied);
    spec.gpt.width = 12;
    spec.gpt.heads = 6;
    const auto model = nn::make_model(shared(spec, group, Sequence::sliced), device, 5);
    CHECK_THROWS_WITH(logits_of(*model, device), contains("the nearest that do are 6 and 9"));
  });
}
