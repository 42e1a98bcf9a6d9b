#include "engine/base/half.hpp"

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

template <typename From, typename To>
void convert_each(std::span<const From> from, std::span<To> to) {
  LOCKSTEP_CHECK(from.size() == to.size(), "convert: ", from.size(), " elements into room for ",
                 to.size(), "; both spans need one length");
  const From* __restrict source = from.data();
  To* __restrict target = to.data();
  for (std::size_t i = 0; i < from.size(); ++i) target[i] = static_cast<To>(source[i]);
}

}  // namespace

void convert(std::span<const float> from, std::span<BFloat16> to) { convert_each(from, to); }
void convert(std::span<const float> from, std::span<Float16> to) { convert_each(from, to); }
void convert(std::span<const BFloat16> from, std::span<float> to) { convert_each(from, to); }
void convert(std::span<const Float16> from, std::span<float> to) { convert_each(from, to); }

}  // namespace lockstep
