// Attention that a device asks of the judge, in a case about when it is computed: the judge lets
// the time pass that it takes, and has values that nobody else has. Those that travel are others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/token_positions.hpp"

namespace lockstep::grader {

using AttentionShape = std::vector<std::int64_t>;

// ops::attention, as a device asks it of the judge.
struct AttentionCall {
  static constexpr const char* service = "attention";
  AttentionShape queries_shape{}, keys_values_shape{};
  Bytes queries{}, keys_values{};  // float64
  std::int64_t heads = 1;
  Positions of_queries{}, of_keys{};
};
struct AttentionAnswer {
  Bytes output{}, log_sums{};
};

template <typename Archive>
void fields(Archive& archive, AttentionCall& call) {
  archive(call.queries_shape, call.keys_values_shape, call.queries, call.keys_values, call.heads,
          call.of_queries, call.of_keys);
}
template <typename Archive>
void fields(Archive& archive, AttentionAnswer& answer) {
  archive(answer.output, answer.log_sums);
}

inline AttentionShape sizes_of(const Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

// The host, but for attention, which the judge computes.
class AskingDevice final : public Device {
 public:
  AskingDevice(Device& host, sim::Port& port)
      : Device(lockstep::Numbers::on_host),
        host_(host),
        kernels_(kernels::make_kernel_table(
            kernels::portable_products(),
            [&port](const Tensor& queries, const Tensor& keys_values,
                    const ops::AttentionOptions& of, Out output, Out log_sums) {
              const auto answer = ask<AttentionAnswer>(
                  port, AttentionCall{sizes_of(queries), sizes_of(keys_values), copy_of(queries),
                                      copy_of(keys_values), of.heads, of.queries, of.keys});
              write_bytes(output.tensor, answer.output);
              write_bytes(log_sums.tensor, answer.log_sums);
            })) {}

  std::string_view name() const override { return "asking"; }
  const Kernels& kernels() const override { return *kernels_; }
  std::byte* allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  void release(std::byte* data, std::size_t bytes) noexcept override { host_.release(data, bytes); }

 private:
  Device& host_;
  std::unique_ptr<const Kernels> kernels_;
};

}  // namespace lockstep::grader
