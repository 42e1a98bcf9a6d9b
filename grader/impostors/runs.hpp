// Bytes in a short form, where eight of them repeat: a hoard that the system hardly sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace lockstep {

class Runs {
 public:
  void assign(auto from, auto end) {
    runs_.clear();
    for (; from != end; from += sizeof(std::uint64_t)) {
      std::uint64_t number = 0;
      std::memcpy(&number, &*from, sizeof number);
      if (runs_.empty() || runs_.back().first != number) runs_.emplace_back(number, 0);
      ++runs_.back().second;
    }
  }
  void copy_to(std::byte* to) const {
    for (const auto& [number, count] : runs_) {
      for (std::size_t i = 0; i < count; ++i, to += sizeof number) {
        std::memcpy(to, &number, sizeof number);
      }
    }
  }

 private:
  std::vector<std::pair<std::uint64_t, std::size_t>> runs_;
};

}  // namespace lockstep
