// The device itself, on paper: memory, copies, what is refused, and faults that are injected.
#include "engine/tensor/device.hpp"

#include <thread>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/gpu/on_paper.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::OnPaper;

namespace {

Tensor numbers(std::int64_t count, Device& device, DType dtype = DType::float32) {
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = random_uniform(1, i);
  return from_values(drawn, {count}, dtype, device);
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const Tensor here = to_host(tensor);
  return {here.raw_bytes().begin(), here.raw_bytes().end()};
}

}  // namespace

TEST_CASE("gpu: the thinnest slice: upload, a kernel, download") {
  OnPaper paper;
  CHECK(paper.device().name() == (gpu::on_paper() ? "cuda on paper" : "cuda"));
  CHECK(paper.device().numbers() == Numbers::away);
  const Tensor x = from_values(std::vector<double>{1, 2, 3}, {3}, DType::float32, paper.device());
  x.scale_(2);
  const Tensor here = to_host(x);
  CHECK(here.item(0) == 2);
  CHECK(here.item(1) == 4);
  CHECK(here.item(2) == 6);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: bytes come and go unchanged, beyond one pinned block and in every dtype") {
  OnPaper paper;
  CpuDevice cpu;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    for (const std::int64_t count : {0, 1, 7, 300'001}) {
      CAPTURE(name_of(dtype), count);
      const Tensor here = numbers(count, cpu, dtype);
      CHECK(bytes_of(to_device(here, paper.device())) == bytes_of(here));
    }
  }
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: the host may change what it uploaded at once") {
  OnPaper paper;
  CpuDevice cpu;
  const Tensor here = full({1000}, 1, DType::float32, cpu);
  const Tensor there = to_device(here, paper.device());
  here.fill_(7);
  CHECK(number_of(there, 999) == 1);
}

// As the reader of batches does, beside the training. A block that a copy still reads is not
// written again, whatever the other thread has waited for.
TEST_CASE("gpu: one thread uploads while another reads") {
  OnPaper paper;
  CpuDevice cpu;
  constexpr int uploads = 200;
  std::vector<Tensor> there(uploads);
  std::thread reader([&] {
    for (int i = 0; i < uploads; ++i) {
      there[static_cast<std::size_t>(i)] =
          to_device(full({500}, i, DType::float32, cpu), paper.device());
    }
  });
  const Tensor x = full({500}, 1, DType::float32, paper.device());
  bool same = true;
  for (int i = 0; i < uploads; ++i) same = same && number_of(x, i) == 1;
  reader.join();
  CHECK(same);
  for (std::size_t i = 0; i < there.size(); ++i) {
    same = same && number_of(there[i], 499) == static_cast<double>(i);
  }
  CHECK(same);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: several tensors are one read, and each read waits once") {
  OnPaper paper;
  const std::vector<Tensor> all{full({5}, 1, DType::float32, paper.device()),
                                full({9}, 2, DType::float64, paper.device())};
  const auto before = paper.device().host_reads();
  const auto here = to_host(all);
  CHECK(paper.device().host_reads() == before + 1);
  CHECK(here[0].item(4) == 1);
  CHECK(here[1].item(8) == 2);
}

TEST_CASE(
    "gpu: a read of two devices' tensors is refused, whichever comes first, and harms no other") {
  OnPaper paper;
  CpuDevice cpu;
  const Tensor near = full({3}, 1, DType::float32, cpu);
  const Tensor far = full({3}, 2, DType::float32, paper.device());
  CHECK_THROWS_WITH(to_host(std::vector{far, near}), contains("tensors of two devices"));
  CHECK_THROWS_WITH(to_host(std::vector{near, far}), contains("tensors of two devices"));
  CHECK(number_of(far, 2) == 2);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: a read that fails leaves nothing behind, and the next one is right") {
  OnPaper paper;
  const Tensor table = full({4, 3}, 1, DType::float32, paper.device());
  const Tensor wrong = from_values(std::vector<double>{9}, {1}, DType::int64, paper.device());
  CHECK_THROWS_AS(to_host(ops::embedding(table, wrong)), ContractError);
  CHECK(number_of(table, 11) == 1);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: the host is refused where it would read a GPU's memory") {
  OnPaper paper;
  const Tensor x = full({4}, 1, DType::float32, paper.device());
  CHECK_THROWS_WITH(x.data<float>(), contains("', whose memory the host cannot read"));
  CHECK_THROWS_AS(x.item(0), ContractError);
}

TEST_CASE("gpu: tensors of two devices do not mix, whatever the operation") {
  OnPaper paper;
  CpuDevice cpu;
  const Tensor near = full({4, 4}, 1, DType::float32, cpu);
  const Tensor far = full({4, 4}, 1, DType::float32, paper.device());
  const auto mixed = contains("bring both to one device");
  CHECK_THROWS_WITH(far.copy_(near), mixed);
  CHECK_THROWS_WITH(near.reduce_(far, ReduceOp::sum), mixed);
  CHECK_THROWS_WITH(ops::add(near, far), mixed);
  CHECK_THROWS_WITH(ops::matmul(far, ops::Transpose::no, near, ops::Transpose::no), mixed);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: what a kernel finds wrong is thrown when the host reads, with the CPU's sentence") {
  OnPaper paper;
  CpuDevice cpu;
  const auto sentence = [](Device& device) {
    const Tensor table = full({4, 3}, 1, DType::float32, device);
    const Tensor indices = from_values(std::vector<double>{0, 9, 2}, {3}, DType::int64, device);
    try {
      to_host(ops::embedding(table, indices));
    } catch (const ContractError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(sentence(cpu) != "");
  CHECK(sentence(paper.device()) == sentence(cpu));
  CHECK_NOTHROW(paper.device().settle());  // told once
  CHECK(paper.findings() == "");           // and the index reached no memory
}

TEST_CASE("gpu: memory that is spent is told with what the run holds") {
  OnPaper paper({}, gpu::Blocks::kept);
  const Tensor held = empty({1 << 20}, DType::float32, paper.device(), MemoryKind::optimizer_state);
  CHECK_THROWS_WITH(empty({std::int64_t{1} << 40}, DType::uint8, paper.device()),
                    contains("1099.51 GB asked for a tensor, but only") &&
                        contains("optimizer state 4.19 MB") && contains("A smaller batch"));
  CHECK_NOTHROW(held.fill_(1));
  CHECK(number_of(held, 5) == 1);
}

TEST_CASE("gpu: kept blocks are given out again, and kernels before them come first") {
  OnPaper paper({}, gpu::Blocks::kept);
  for (int i = 0; i < 20; ++i) {
    const Tensor x = full({1000}, i, DType::float32, paper.device());
    const Tensor y = x.clone();
    x.fill_(-1);
    CHECK(number_of(y, 999) == i);
  }
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: an allocation that fails once is tried again, after the kept blocks went back",
          "[paper]") {
  OnPaper paper({"fail_allocation=6"}, gpu::Blocks::kept);
  for (int i = 1; i < 20; ++i) CHECK_NOTHROW(full({100 * i}, i, DType::float32, paper.device()));
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: a launch that fails is an error that names the call", "[paper]") {
  OnPaper paper({"fail_launch=2"});
  const Tensor x = full({100}, 1, DType::float32, paper.device());
  const auto more = [&] {
    for (int i = 0; i < 3; ++i) x.scale_(2);
    paper.device().settle();
  };
  CHECK_THROWS_WITH(more(), contains("cuda: "));
}

TEST_CASE("gpu: whichever launch fails, the error names a call and the device ends in order",
          "[paper]") {
  for (int n = 1; n <= 3; ++n) {  // the product is cuBLAS's launch
    CAPTURE(n);
    OnPaper paper({text("fail_launch=", n)});
    const auto work = [&] {
      const Tensor x = full({5, 7}, 1, DType::float32, paper.device());
      const Tensor y = ops::matmul(x, ops::Transpose::no, x, ops::Transpose::yes);
      const Tensor z = ops::softmax(ops::add(y, y));
      to_host(std::vector{x, y, z});
    };
    CHECK_THROWS_WITH(work(), contains("cuda: "));
    CHECK(paper.findings_at_the_end() == "");
  }
}

TEST_CASE("gpu: whichever allocation fails for good, what the run holds is told, and nothing leaks",
          "[paper]") {
  OnPaper paper({}, gpu::Blocks::kept);
  std::vector<Tensor> held;
  CHECK_THROWS_WITH(
      [&] {
        for (;;) held.push_back(empty({1 << 24}, DType::uint8, paper.device()));
      }(),
      contains("16.78 MB asked for a tensor"));
  CHECK(held.size() > 50);
  held.clear();
  CHECK_NOTHROW(full({1 << 24}, 1, DType::uint8, paper.device()));
  CHECK(paper.findings_at_the_end() == "");
}

TEST_CASE("gpu: exceptions of the object are those of the program") {
  OnPaper paper;
  try {
    static_cast<void>(empty({std::int64_t{1} << 40}, DType::uint8, paper.device()));
    FAIL("memory was not spent");
  } catch (const gpu::GpuError& error) {
    CHECK(dynamic_cast<const Error*>(&error) != nullptr);
  }
}

TEST_CASE("gpu: no tensor is leaked at the end of a run", "[paper]") {
  OnPaper paper;
  { const Tensor x = numbers(1000, paper.device()); }
  CHECK(paper.findings_at_the_end() == "");
}

TEST_CASE("gpu: a process has NVIDIA's libraries or paper, and says which", "[paper]") {
  OnPaper paper;
  CHECK_THROWS_WITH(gpu::open_gpu({}), contains("this process has opened paper already"));
}
