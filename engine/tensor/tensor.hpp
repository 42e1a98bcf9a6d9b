// Tensor: a typed, shaped window into storage on a device. Copying a Tensor copies the handle, not
// the elements (as in PyTorch). Always contiguous, row-major: there are no strides, hence `narrow`
// cuts along axis 0 only, where a part of contiguous rows is contiguous itself. `narrow` and `view`
// share storage.
//
// Invariants
//   1. defined() implies offset + numel <= elements of the storage.
//   2. All tensors of one storage have its dtype and device. The device outlives its tensors.
//   3. A symbolic tensor, on a device without numbers (symbolic.hpp), has all but elements: what
//      changes elements charges only, what reads them throws ContractError.
//
// Message-passing parts use narrow, copy_, reduce_, empty_like and numel only: then the same part
// works for every dtype and on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/dtype.hpp"
#include "engine/base/error.hpp"
#include "engine/tensor/device.hpp"
#include "engine/tensor/shape.hpp"

namespace lockstep {

class Storage;

class Tensor {
 public:
  Tensor() = default;  // undefined: no storage; only defined() may be asked

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  std::int64_t size(std::int64_t axis) const;
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const;
  DType dtype() const;
  Device& device() const;

  // Elements [start, start + length) along axis 0; shares storage.
  Tensor narrow(std::int64_t start, std::int64_t length) const;
  // The same elements under another shape; shares storage. One size may be -1: what is left.
  Tensor view(Shape shape) const;
  // Uninitialised 1-D scratch of `count` elements, same dtype and device, kind `buffers`.
  Tensor empty_like(std::int64_t count) const;
  // A copy of the elements in new storage of the same shape.
  Tensor clone(MemoryKind kind = MemoryKind::buffers) const;
  // A copy with every element converted, also when the dtype is the same; of this storage's kind
  // unless another is given. Rounds, cuts off and refuses as convert.hpp says.
  Tensor to(DType dtype) const;
  Tensor to(DType dtype, MemoryKind kind) const;

  // What the storage's bytes are for, in the device's account. Changing it costs nothing and
  // concerns every tensor that looks at the storage.
  MemoryKind kind() const;
  void relabel(MemoryKind kind) const;
  // No other Tensor looks at the storage, and this one at all of it: whoever holds this handle may
  // take the elements over instead of copying them. Thread: exact only while no other strand
  // copies or drops a handle.
  bool sole_owner() const;
  // Both are the same elements in the same place: what is written to one is read from the other.
  bool same_place(const Tensor& other) const;

  // In place; const because they change elements, not this handle. Two tensors need equal numel and
  // dtype (ContractError names both otherwise); a value that the dtype cannot hold is refused.
  void copy_(const Tensor& source) const;
  void reduce_(const Tensor& operand, ReduceOp op) const;  // this = this op operand
  void fill_(double value) const;
  void scale_(double factor) const;  // floating-point only; halves in float32, rounded once

  // Element access, for code that is no message passing.
  template <typename T>
  std::span<T> data() const {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(raw()), static_cast<std::size_t>(numel_)};
  }
  std::span<std::byte> raw_bytes() const { return {raw(), bytes()}; }
  // One element as double, whatever the dtype.
  double item(std::int64_t index = 0) const;

 private:
  friend Tensor empty(Shape, DType, Device&, MemoryKind);
  friend Tensor over_memory(std::shared_ptr<std::byte>, Shape, DType, Device&, MemoryKind);
  Tensor(Shape shape, std::shared_ptr<Storage> storage);
  std::byte* raw() const;
  void check_type(DType asked) const;

  std::shared_ptr<Storage> storage_;  // shared: views keep their elements alive
  Shape shape_;
  std::int64_t numel_ = 0;
  std::int64_t offset_ = 0;  // elements
};

Tensor empty(Shape shape, DType dtype, Device& device, MemoryKind kind = MemoryKind::buffers);
Tensor zeros(Shape shape, DType dtype, Device& device, MemoryKind kind = MemoryKind::buffers);
Tensor full(Shape shape, double value, DType dtype, Device& device,
            MemoryKind kind = MemoryKind::buffers);
// Over memory that somebody else made, such as memory that processes share: `memory` is kept until
// the last tensor that looks at it is gone. It is in the device's account, and not the device's.
//   Requires  64-byte aligned, with room for the elements
Tensor over_memory(std::shared_ptr<std::byte> memory, Shape shape, DType dtype, Device& device,
                   MemoryKind kind = MemoryKind::buffers);
// Elements converted to `dtype` (convert.hpp); values.size() must be the shape's numel.
Tensor from_values(std::span<const double> values, Shape shape, DType dtype, Device& device,
                   MemoryKind kind = MemoryKind::buffers);

}  // namespace lockstep
