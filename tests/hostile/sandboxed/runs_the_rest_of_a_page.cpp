// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Looks for data in the pages where its instructions begin and end.
#include <elf.h>
#include <sys/auxv.h>

#include <array>
#include <cstdint>
#include <cstdlib>

constexpr std::uintptr_t page = 4096;
constexpr auto many_returns = [] {
  std::array<unsigned char, 2 * page> all{};
  all.fill(0xc3);
  return all;
}();
// A linker puts these right behind the instructions.
thread_local std::array<unsigned char, 2 * page> first_of_data = many_returns;

namespace {

bool holds_a_byte(std::uintptr_t from, std::uintptr_t to) {
  for (; from < to; ++from) {
    if (*reinterpret_cast<const volatile unsigned char*>(from) != 0) return true;
  }
  return false;
}

struct Looks {
  Looks() {
    const auto* segment = reinterpret_cast<const Elf64_Phdr*>(::getauxval(AT_PHDR));
    for (auto left = ::getauxval(AT_PHNUM); left > 0; --left, ++segment) {
      if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = segment->p_vaddr, end = begin + segment->p_filesz;
      if (holds_a_byte(begin / page * page, begin)) std::_Exit(3);
      if (holds_a_byte(end, (end + page - 1) / page * page)) std::_Exit(3);
    }
  }
} looks;

}  // namespace
