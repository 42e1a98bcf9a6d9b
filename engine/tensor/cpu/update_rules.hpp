// The update rules of engine/tensor/update_rules.hpp on runs of elements.
//   Requires  spans of one length; `velocity` may be empty when momentum is 0; updates ≥ 1
#pragma once

#include <span>

#include "engine/tensor/cpu/isa.hpp"
#include "engine/tensor/update_rules.hpp"

namespace lockstep::kernels {

void sgd_update(Isa isa, std::span<float> value, std::span<const float> grad,
                std::span<float> velocity, const SgdRule& rule);
void sgd_update(Isa isa, std::span<double> value, std::span<const double> grad,
                std::span<double> velocity, const SgdRule& rule);
void adam_update(Isa isa, std::span<float> value, std::span<const float> grad,
                 std::span<float> first, std::span<float> second, const AdamRule& rule,
                 std::int64_t updates);
void adam_update(Isa isa, std::span<double> value, std::span<const double> grad,
                 std::span<double> first, std::span<double> second, const AdamRule& rule,
                 std::int64_t updates);

}  // namespace lockstep::kernels
