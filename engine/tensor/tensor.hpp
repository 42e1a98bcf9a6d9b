// Tensor: a typed, shaped window into storage on a device. Copying a Tensor copies the handle, not
// the elements (as in PyTorch). Always contiguous, row-major: there are no strides, hence `narrow`
// cuts along axis 0 only, where a part of contiguous rows is contiguous itself. `narrow` and `view`
// share storage.
//
// Invariants
//   1. defined() implies offset + numel <= elements of the storage.
//   2. All tensors of one storage have its dtype and device. The device outlives its tensors.
//   3. The host touches elements on host devices only: data, raw_bytes and item throw ContractError
//      elsewhere. What another device holds comes by to_host(), and what it is to hold goes there
//      by to_device(). A symbolic tensor (symbolic.hpp) has all but elements.
//
// Message-passing parts use narrow, copy_, reduce_, empty_like and numel only: then the same part
// works for every dtype and on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

  // The purpose of the storage's bytes in the device's account. Changing it costs nothing and
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
  // The same from any dtype, each element converted as by to().
  void convert_(const Tensor& source) const;
  void reduce_(const Tensor& operand, ReduceOp op) const;  // this = this op operand
  void fill_(double value) const;
  void scale_(double factor) const;  // floating-point only; halves in float32, rounded once

  // Element access on host devices, for code that is no message passing.
  template <typename T>
  std::span<T> data() const {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(on_host()), static_cast<std::size_t>(numel_)};
  }
  std::span<std::byte> raw_bytes() const { return {on_host(), bytes()}; }
  // One element as double, whatever the dtype.
  double item(std::int64_t index = 0) const;

  // The address at which the device's kernels find the first element. For kernels and transports:
  // unless the device is the host's, nobody else may look there.
  std::byte* address() const;

 private:
  friend Tensor empty(Shape, DType, Device&, MemoryKind);
  friend Tensor over_memory(std::shared_ptr<std::byte>, Shape, DType, Device&, MemoryKind);
  Tensor(Shape shape, std::shared_ptr<Storage> storage);
  std::byte* on_host() const;
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

// Elements that the host writes, where a device wants them: `write(tensor)` is given a tensor on a
// host device, which is the result where `device` is one. Not called where nobody has elements.
template <typename Write>
Tensor written_by_host(Shape shape, DType dtype, Device& device, MemoryKind kind, Write&& write);

// The same elements on another device; the tensor itself where it is there already, or where both
// are the host's. Of this tensor's kind of memory.
Tensor to_device(const Tensor& tensor, Device& device);

// The elements where the host can read them: on a host device the tensor itself, else a copy.
//   Cost    the device is waited for, and counts one read; several tensors at once are one read
//   Throws  ContractError where there are no elements, and what a kernel found wrong in its data
Tensor to_host(const Tensor& tensor);
std::vector<Tensor> to_host(std::span<const Tensor> tensors);  // of one device
// One element as double.
double number_of(const Tensor& tensor, std::int64_t index = 0);

// checksum_of each tensor's bytes; one read for all.
std::vector<std::uint64_t> checksums_of(std::span<const Tensor> tensors);

template <typename Write>
Tensor written_by_host(Shape shape, DType dtype, Device& device, MemoryKind kind, Write&& write) {
  const Tensor written = empty(std::move(shape), dtype, device.host(), kind);
  if (device.has_numbers()) write(written);
  return to_device(written, device);
}

}  // namespace lockstep
