// Operations on tensors, without gradients: what the autograd room composes. Each checks shapes
// and dtypes, charges the device, and returns new storage of kind `activations`, unless its name
// ends in _ : then it changes its first operand. Floating-point operands of one call share one
// dtype; accumulation is in that dtype unless said otherwise.
#pragma once

#include "engine/tensor/activation.hpp"
#include "engine/tensor/attention.hpp"
#include "engine/tensor/broadcast.hpp"
#include "engine/tensor/gather.hpp"
#include "engine/tensor/matmul.hpp"
#include "engine/tensor/merge_attention.hpp"
#include "engine/tensor/normalization.hpp"
#include "engine/tensor/rearrange.hpp"
#include "engine/tensor/softmax.hpp"
#include "engine/tensor/split_rows.hpp"
#include "engine/tensor/update_rules.hpp"
