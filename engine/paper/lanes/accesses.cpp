// ld and st in each space: one element or a vector. Caching modifiers change no value; they are
// known by name and otherwise alike.
#include <cstring>

#include "engine/paper/lanes/access.hpp"
#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

// Local memory: one address is another place for each lane.
template <Space space>
bool is_own(std::uint64_t address) {
  return space == Space::local || (space == Space::generic && address >= local_window);
}

// at: the address, then `count` registers.
template <typename T, Space space, std::size_t count>
void load_each(Warp& warp, const Instruction& instruction) {
  std::uint64_t last = 0;  // lanes that read one address are often beside each other
  const std::byte* from = nullptr;
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const std::uint64_t address = address_of(warp, instruction, 0, lane);
    if (from == nullptr || address != last || is_own<space>(address)) {
      from = reach_quickly<space, Touch::read>(warp, address, sizeof(T) * count, lane);
      last = address;
    }
    if (from == nullptr) return;
    T values[count];
    std::memcpy(values, from, sizeof values);
    for (std::size_t i = 0; i < count; ++i) at<T>(warp, instruction.at[i + 1])[lane] = values[i];
  });
}

template <typename T, Space space>
void load(Warp& warp, const Instruction& instruction) {
  const std::size_t bytes = sizeof(T) * instruction.count;
  if (warp.block->counting) count_request(warp, instruction, 0, space, bytes);
  if (instruction.count == 1) return load_each<T, space, 1>(warp, instruction);
  if (instruction.count == 2) return load_each<T, space, 2>(warp, instruction);
  load_each<T, space, 4>(warp, instruction);
}

template <typename T, Space space, std::size_t count>
void store_each(Warp& warp, const Instruction& instruction) {
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const std::uint64_t address = address_of(warp, instruction, 0, lane);
    std::byte* to = reach_quickly<space, Touch::write>(warp, address, sizeof(T) * count, lane);
    if (to == nullptr) return;
    T values[count];
    for (std::size_t i = 0; i < count; ++i) values[i] = at<T>(warp, instruction.at[i + 1])[lane];
    std::memcpy(to, values, sizeof values);
  });
}

template <typename T, Space space>
void store(Warp& warp, const Instruction& instruction) {
  const std::size_t bytes = sizeof(T) * instruction.count;
  if (warp.block->counting) count_request(warp, instruction, 0, space, bytes);
  if (instruction.count == 1) return store_each<T, space, 1>(warp, instruction);
  if (instruction.count == 2) return store_each<T, space, 2>(warp, instruction);
  store_each<T, space, 4>(warp, instruction);
}

// The kernel's own parameters: the same for all lanes, unless an index differs.
template <typename T>
void load_parameter(Warp& warp, const Instruction& instruction) {
  const std::size_t bytes = sizeof(T) * instruction.count;
  const auto parameters = warp.block->parameters;
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const std::uint64_t offset = address_of(warp, instruction, 0, lane);
    if (offset > parameters.size() || bytes > parameters.size() - offset) {
      warp.block->tell(Kind::out_of_bounds, warp.thread(lane),
                       "byte " + std::to_string(offset) +
                           " of the kernel's parameters, which have " +
                           std::to_string(parameters.size()) + " bytes");
      warp.event = Event::fault;
      warp.block->fault = Fault::illegal;
      return;
    }
    for (std::size_t i = 0; i < instruction.count; ++i) {
      T value;
      std::memcpy(&value, parameters.data() + offset + i * sizeof(T), sizeof value);
      at<T>(warp, instruction.at[i + 1])[lane] = value;
    }
  });
}

struct Put {
  Table& table;
  Form form;
  Type type;
  Space space;
  std::size_t bytes;  // of an element

  void operator()(const std::string& begin, const std::string& types, Handler run) const {
    for (const int count : {1, 2, 4}) {
      if (count * bytes > 16) continue;
      Entry entry = entry_of(run, {{Role::address, Type::none}});
      for (int i = 0; i < count; ++i) {
        entry.slots.push_back({form == Form::load ? Role::destination : Role::source, type});
      }
      entry.form = form;
      entry.count = static_cast<std::uint8_t>(count);
      entry.space = space;
      const std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
      table.emplace(begin + vector + types, std::move(entry));
    }
  }
};

// All spellings of one element type in one space.
template <typename T, Space space>
void add_space(Table& table, const std::string& type, Type as, const std::string& where) {
  const Put loads{table, Form::load, as, space, sizeof(T)};
  const Put stores{table, Form::store, as, space, sizeof(T)};
  if constexpr (space == Space::parameter) {
    loads("ld.param", type, &load_parameter<T>);
    stores("st.param", type, &store<T, Space::local>);  // arguments of a call lie in local memory
    return;
  } else {
    for (const char* cache : {"", ".ca", ".cg", ".cs", ".lu", ".cv"}) {
      loads("ld" + where + cache, type, &load<T, space>);
    }
    if (space == Space::constant) return;
    if (space != Space::local) loads("ld.volatile" + where, type, &load<T, space>);
    for (const char* cache : {"", ".wb", ".cg", ".cs", ".wt"}) {
      stores("st" + where + cache, type, &store<T, space>);
    }
    if (space != Space::local) stores("st.volatile" + where, type, &store<T, space>);
    if (space == Space::global) {
      for (const char* cache : {"", ".ca", ".cg", ".cs", ".L1::no_allocate"}) {
        loads("ld.global" + std::string(cache) + ".nc", type, &load<T, space>);
      }
      loads("ldu.global", type, &load<T, space>);
    }
  }
}

template <typename T>
void add_element(Table& table, const std::string& type, Type as) {
  add_space<T, Space::generic>(table, type, as, "");
  add_space<T, Space::global>(table, type, as, ".global");
  add_space<T, Space::shared>(table, type, as, ".shared");
  add_space<T, Space::local>(table, type, as, ".local");
  add_space<T, Space::constant>(table, type, as, ".const");
  add_space<T, Space::parameter>(table, type, as, ".param");
}

}  // namespace

void add_accesses(Table& table) {
  for_types(AllIntegers{}, [&]<typename T>() {
    add_element<std::make_unsigned_t<T>>(table, "." + suffix<T>(), type_of<T>());
    if (std::is_unsigned_v<T>) {
      add_element<T>(table, ".b" + std::to_string(8 * sizeof(T)), type_of<T>());
    }
  });
  add_element<std::uint32_t>(table, ".f32", Type::f32);
  add_element<std::uint64_t>(table, ".f64", Type::f64);
}

}  // namespace lockstep::paper
