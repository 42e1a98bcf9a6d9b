// A transformer's block made of the parts, whole and in slices of the sequence, beside the block of
// one device: values, gradients of all its weights, and the collectives in their order.
#include "tests/tensor_parallel/block.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::test::block;

TEST_CASE("a block on tensor-parallel ranks is the block of one device: two all-reduces each way") {
  for (const int ranks : group_sizes) {
    CAPTURE(ranks);
    on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
      const Weights whole = whole_weights(device);
      const Tensor x = drawn({batch, tokens, width}, 1, device);
      const Tensor grad = drawn({batch, tokens, width}, 2, device);
      const Pass expected = on_one_device(whole, x, grad);
      const std::int64_t sent_before = group.traffic().bytes_sent;
      const Pass pass = on_ranks(group, share_of(whole, group.rank(), ranks), x, grad);
      const std::string sum = text("all_reduce (sum) of ", x.numel(), " float64");
      CHECK(pass.forward == Calls{sum, sum});
      CHECK(pass.backward == Calls{sum, sum});
      // 2(t-1)/t of B·T·C elements each time; rings cut evenly here
      CHECK(group.traffic().bytes_sent - sent_before ==
            4 * 2 * (ranks - 1) * x.numel() / ranks * 8);
      CHECK(difference(pass.y, expected.y) <= 10 * near);
      CHECK(difference(pass.dx, expected.dx) <= 200 * near);
      check_gradients(pass.grads, share_of(expected.grads, group.rank(), ranks));
    });
  }
}

TEST_CASE("a block in slices of the sequence is the block of one device, for as many bytes") {
  for (const int ranks : group_sizes) {
    for (const Kept kept : {Kept::whole, Kept::slice}) {
      CAPTURE(ranks, static_cast<int>(kept));
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const int rank = group.rank();
        const Weights whole = whole_weights(device);
        const Tensor x = drawn({batch, tokens, width}, 1, device);
        const Tensor grad = drawn({batch, tokens, width}, 2, device);
        const Pass expected = on_one_device(whole, x, grad);
        const std::int64_t sent_before = group.traffic().bytes_sent;
        const Pass pass =
            in_slices(group, share_of(whole, rank, ranks), columns_of_rank(x, rank, ranks),
                      columns_of_rank(grad, rank, ranks), kept);
        const std::string gather = text("all_gather of ", x.numel() / ranks, " float64 a rank"),
                          scatter = text("reduce_scatter (sum) of ", x.numel() / ranks,
                                         " float64 a rank");
        CHECK(pass.forward == Calls{gather, scatter, gather, scatter});
        CHECK(pass.backward == (kept == Kept::whole
                                    ? Calls{gather, scatter, gather, scatter}
                                    : Calls{gather, gather, scatter, gather, gather, scatter}));
        CHECK(group.taken() == Calls{text("all_reduce (sum) of ", 6 * width, " float64")});
        const std::int64_t times = kept == Kept::whole ? 8 : 10;
        CHECK(group.traffic().bytes_sent - sent_before ==
              (times * x.numel() + 2 * 6 * width) * (ranks - 1) / ranks * 8);
        CHECK(difference(pass.y, columns_of_rank(expected.y, rank, ranks)) <= 10 * near);
        CHECK(difference(pass.dx, columns_of_rank(expected.dx, rank, ranks)) <= 200 * near);
        check_gradients(pass.grads, share_of(expected.grads, rank, ranks));
      });
    }
  }
}
