// mov and cvta, and what the decoder makes of registers: copies, resizing, packing.
#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

template <typename T>
void add_move(Table& table, const std::string& s) {
  add_plain<T, T>(
      table, "mov" + s, [](T a) { return a; }, 0, Form::move);
}

void copy_predicate(Warp& warp, const Instruction& instruction) {
  set_predicate(warp, instruction.at[0], predicate(warp, instruction.at[1]));
}

template <typename To, typename From>
void resize(Warp& warp, const Instruction& instruction) {
  auto* d = at<To>(warp, instruction.at[0]);
  const auto* a = at<From>(warp, instruction.at[1]);
  each_lane(warp.lanes, [&](std::uint32_t lane) { d[lane] = static_cast<To>(a[lane]); });
}

template <typename T>
void copy(Warp& warp, const Instruction& instruction) {
  resize<T, T>(warp, instruction);
}

// The whole is made of `count` parts, the first one lowest.
template <typename Part>
void pack(Warp& warp, const Instruction& instruction) {
  const std::size_t bytes = sizeof(Part) * instruction.count;
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    std::byte* whole = warp.file + instruction.at[0] + lane * bytes;
    Part parts[4] = {};
    for (std::size_t i = 0; i < instruction.count; ++i)
      parts[i] = at<Part>(warp, instruction.at[i + 1])[lane];
    std::memcpy(whole, parts, bytes);
  });
}
template <typename Part>
void unpack(Warp& warp, const Instruction& instruction) {
  const std::size_t bytes = sizeof(Part) * instruction.count;
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    Part parts[4];
    std::memcpy(parts, warp.file + instruction.at[0] + lane * bytes, bytes);
    for (std::size_t i = 0; i < instruction.count; ++i)
      at<Part>(warp, instruction.at[i + 1])[lane] = parts[i];
  });
}

template <typename T>
void read_clock(Warp& warp, const Instruction& instruction) {
  auto* d = at<T>(warp, instruction.at[0]);
  const auto now = static_cast<T>(warp.block->counters->instructions);
  each_lane(warp.lanes, [&](std::uint32_t lane) { d[lane] = now; });
}

template <std::uint64_t base>
void add_address(Table& table, const std::string& space) {
  using U = std::uint64_t;
  add_plain<U, U>(table, "cvta" + space + ".u64", [](U a) { return a + base; });
  add_plain<U, U>(table, "cvta.to" + space + ".u64", [](U a) { return a - base; });
}

}  // namespace

Handler copy_handler(std::size_t bytes) {
  switch (bytes) {
    case 0:
      return &copy_predicate;
    case 1:
      return &copy<std::uint8_t>;
    case 2:
      return &copy<std::uint16_t>;
    case 4:
      return &copy<std::uint32_t>;
    default:
      return &copy<std::uint64_t>;
  }
}

Handler resize_handler(std::size_t to, std::size_t from, Type as) {
  if (to <= from) {
    switch (to * 16 + from) {
      case 1 * 16 + 2:
        return &resize<std::uint8_t, std::uint16_t>;
      case 1 * 16 + 4:
        return &resize<std::uint8_t, std::uint32_t>;
      case 1 * 16 + 8:
        return &resize<std::uint8_t, std::uint64_t>;
      case 2 * 16 + 4:
        return &resize<std::uint16_t, std::uint32_t>;
      case 2 * 16 + 8:
        return &resize<std::uint16_t, std::uint64_t>;
      case 4 * 16 + 8:
        return &resize<std::uint32_t, std::uint64_t>;
      default:
        return copy_handler(to);
    }
  }
  const bool extends_sign = is_signed(as);
  switch (to * 16 + from) {
    case 2 * 16 + 1:
      return extends_sign ? &resize<std::int16_t, std::int8_t>
                          : &resize<std::uint16_t, std::uint8_t>;
    case 4 * 16 + 1:
      return extends_sign ? &resize<std::int32_t, std::int8_t>
                          : &resize<std::uint32_t, std::uint8_t>;
    case 8 * 16 + 1:
      return extends_sign ? &resize<std::int64_t, std::int8_t>
                          : &resize<std::uint64_t, std::uint8_t>;
    case 4 * 16 + 2:
      return extends_sign ? &resize<std::int32_t, std::int16_t>
                          : &resize<std::uint32_t, std::uint16_t>;
    case 8 * 16 + 2:
      return extends_sign ? &resize<std::int64_t, std::int16_t>
                          : &resize<std::uint64_t, std::uint16_t>;
    default:
      return extends_sign ? &resize<std::int64_t, std::int32_t>
                          : &resize<std::uint64_t, std::uint32_t>;
  }
}

Handler pack_handler(std::size_t part) {
  return part == 1   ? &pack<std::uint8_t>
         : part == 2 ? &pack<std::uint16_t>
         : part == 4 ? &pack<std::uint32_t>
                     : nullptr;
}
Handler unpack_handler(std::size_t part) {
  return part == 1   ? &unpack<std::uint8_t>
         : part == 2 ? &unpack<std::uint16_t>
         : part == 4 ? &unpack<std::uint32_t>
                     : nullptr;
}
Handler clock_handler(std::size_t bytes) {
  return bytes == 4 ? &read_clock<std::uint32_t> : &read_clock<std::uint64_t>;
}

void add_moves(Table& table) {
  for_types(Integers16To64{}, [&]<typename T>() {
    add_move<T>(table, "." + suffix<T>());
    if (std::is_unsigned_v<T>) add_move<T>(table, ".b" + std::to_string(8 * sizeof(T)));
  });
  add_move<float>(table, ".f32");
  add_move<double>(table, ".f64");
  add_address<0>(table, ".global");
  add_address<0>(table, ".const");
  add_address<shared_window>(table, ".shared");
  add_address<local_window>(table, ".local");
}

}  // namespace lockstep::paper
