// The choice of a compression, as typed, and what all hooks do alike.
#include "engine/parallel/compress/compression.hpp"

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/residuals.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::compress::compression_of;
using lockstep::compress::Compressor;
using lockstep::test::contains;
using lockstep::test::integers_of;

TEST_CASE("compression: what is typed is read, and written as it was typed") {
  for (const char* words :
       {"none", "fp16", "bf16", "int8", "topk:0.01", "randomk:1", "randomk:0.25", "powersgd:4"}) {
    CHECK(text_of(compression_of(words)) == words);
  }
  CHECK(compression_of("topk:0.01") == compress::Compression{Compressor::top_k, 0.01, 0});
  CHECK(compression_of("powersgd:4") == compress::Compression{Compressor::power_sgd, 0, 4});
  CHECK(compression_of("topk:1e-3").fraction == 1e-3);
  compress::Compression forgets = compression_of("topk:0.01");
  CHECK(keeps_residuals(forgets));
  forgets.feedback = compress::ErrorFeedback::off;
  CHECK(text_of(forgets) == "topk:0.01 without error feedback");
  CHECK_FALSE(keeps_residuals(forgets));
}

TEST_CASE("compression: what cannot be is refused with the word and an example") {
  for (const char* words :
       {"topk", "topk:", "topk:0", "topk:-0.1", "topk:1.01", "topk:2", "topk:nan", "topk:inf",
        "topk:0.1x", "topk:x", "randomk:0", "topk:0.1:2", "topk: 0.1"}) {
    CAPTURE(words);
    CHECK_THROWS_WITH(
        compression_of(words),
        contains("needs the fraction of the entries that travel, above 0 and up to 1"));
    CHECK_THROWS_AS(compression_of(words), UsageError);
  }
  for (const char* words : {"powersgd", "powersgd:0", "powersgd:-1", "powersgd:1.5", "powersgd:nan",
                            "powersgd:99999999999999999999", "powersgd:70000"}) {
    CAPTURE(words);
    CHECK_THROWS_WITH(compression_of(words),
                      contains("needs the rank of the matrices that travel, from 1 to 65536"));
  }
  CHECK_THROWS_WITH(compression_of("fp16:2"),
                    contains("fp16 takes no number; pass --compress fp16"));
  CHECK_THROWS_WITH(compression_of("none:"), contains("none takes no number"));
  CHECK_THROWS_WITH(compression_of("topK:0.1"),
                    contains("--compress topK does not exist") && contains("did you mean topk?"));
  CHECK_THROWS_WITH(compression_of(""), contains("does not exist"));
  CHECK_THROWS_WITH(compress::make_hook({}, 1), contains("no hook for no compression"));
}

TEST_CASE("compression: residuals begin with the second pass and belong to one plan") {
  CpuDevice device;
  compress::Residuals residuals(compress::ErrorFeedback::on);
  const auto next = [&](std::int64_t count, std::size_t index, std::size_t last) {
    auto bucket = test::bucket_of(zeros({count}, DType::float32, device), {{count}}, index);
    bucket.last = index == last;
    return residuals.next(bucket);
  };
  CHECK_FALSE(next(10, 0, 0).defined());  // one bucket with everything
  CHECK(residuals.passes() == 1);
  const Tensor one = next(4, 0, 1), two = next(6, 1, 1);
  CHECK(residuals.passes() == 2);
  CHECK(test::values_of(one) == test::Values(4));
  CHECK(two.numel() == 6);
  CHECK(next(4, 0, 1).same_place(one));
  CHECK_THROWS_WITH(next(7, 1, 1),
                    contains("bucket 1 has 7 elements in pass 3, but 6 were left out"));
}

TEST_CASE("compression: without error feedback, residuals are zeros at the start of each pass") {
  CpuDevice device;
  for (const auto feedback : {compress::ErrorFeedback::on, compress::ErrorFeedback::off}) {
    compress::Residuals residuals(feedback);
    for (int pass = 0; pass < 4; ++pass) {
      const Tensor flat = zeros({10}, DType::float32, device);
      auto bucket = test::bucket_of(flat, {{10}});
      bucket.last = true;
      const Tensor residual = residuals.next(bucket);
      if (pass == 0) continue;
      const bool kept = feedback == compress::ErrorFeedback::on && pass > 1;
      CHECK(residual.item(7) == (kept ? 3 : 0));
      residual.fill_(3);  // as a compressor that sends nothing
    }
  }
}

TEST_CASE(
    "compression: every hook averages a bucket, empty ones too, with the same bits on every "
    "rank") {
  const std::string words = GENERATE("fp16", "bf16", "int8", "topk:1", "randomk:1", "powersgd:3");
  const int ranks = GENERATE(1, 2, 3, 8);
  for (const std::int64_t count : {0, 35}) {
    CAPTURE(words, ranks, count);
    std::vector<test::Values> of_rank(static_cast<std::size_t>(ranks));
    test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto hook = compress::make_hook(compression_of(words), 1);
      for (int pass = 0; pass < 2; ++pass) {
        const Tensor flat = test::tensor_of(integers_of(group.rank(), count, pass), device);
        hook->start(group, test::bucket_of(flat, {{count / 5, 5}})).wait();
        of_rank[static_cast<std::size_t>(group.rank())] = test::values_of(flat);
      }
    });
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      double mean = 0;
      for (int r = 0; r < ranks; ++r) {
        mean += static_cast<double>(integers_of(r, count, 1)[i]) / ranks;
      }
      // bfloat16 and int8 are the coarsest: N + 1 roundings of at most 2^-8 of 50 · the ranks'
      // shares together. PowerSGD sends what does not shrink as it is.
      CHECK(std::abs(static_cast<double>(of_rank[0][i]) - mean) <= 50.0 * (ranks + 1) / 256);
    }
    for (const auto& values : of_rank) CHECK(test::same_bits(values, of_rank[0]));
  }
}

TEST_CASE("compression: tensors without numbers send the same bytes") {
  const std::string words = GENERATE("fp16", "int8", "topk:0.1", "randomk:0.1", "powersgd:2");
  CAPTURE(words);
  std::vector<std::int64_t> sent;
  test::on_fibers(3, [&](comm::ProcessGroup& group) {
    CpuDevice with_numbers;
    SymbolicDevice without;
    for (Device* device : {static_cast<Device*>(&with_numbers), static_cast<Device*>(&without)}) {
      const std::int64_t before = group.traffic().bytes_sent;
      const auto hook = compress::make_hook(compression_of(words), 1);
      for (int pass = 0; pass < 2; ++pass) {
        const Tensor flat = full({1200}, 1, DType::float32, *device);
        hook->start(group, test::bucket_of(flat, {{40, 30}})).wait();
      }
      if (group.rank() == 0) sent.push_back(group.traffic().bytes_sent - before);
    }
  });
  CHECK(sent.at(0) > 0);
  CHECK(sent.at(0) == sent.at(1));
}

TEST_CASE("compression: what follows a collective is not done when the collective fails") {
  test::on_fibers(1, [](comm::ProcessGroup& group) {
    struct Fails final : comm::Pending {
      void wait() override { throw CommError("the peer is lost"); }
    };
    bool done = false;
    comm::Work work =
        compress::then(group, comm::Work(std::make_unique<Fails>()), [&] { done = true; });
    std::string message;
    try {
      work.wait();
    } catch (const CommError& error) {
      message = error.what();
    }
    LOCKSTEP_EXPECT(message == "the peer is lost" && !done);
    compress::then(group, {}, [&] { done = true; }).wait();
    LOCKSTEP_EXPECT(done);
  });
}
