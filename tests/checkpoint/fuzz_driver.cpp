// A fuzzer that needs no library: takes valid files, breaks them in the ways files and attackers
// break them, and hands them to the entry point. The same count gives the same inputs everywhere.
#include <array>
#include <charconv>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tests/checkpoint/fuzz_safetensors.hpp"

using lockstep::test::Outcome;
using lockstep::test::read_or_refuse;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, 'd');
}

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> files = {
      file_of("{}", 0),
      file_of(R"({"__metadata__":{"format":"pt","é":"\u00e9"},)"
              R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
              24),
      file_of(R"({"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
              R"("b":{"dtype":"BF16","shape":[],"data_offsets":[16,18]},)"
              R"("c":{"dtype":"U8","shape":[0,7],"data_offsets":[18,18]},)"
              R"("d":{"dtype":"I8","shape":[3],"data_offsets":[18,21]}}   )",
              21)};
  return files;
}

// Texts that mean something to the format or to a parser.
constexpr std::array words{"\"dtype\"",
                           "\"shape\"",
                           "\"data_offsets\"",
                           "\"__metadata__\"",
                           "\"F32\"",
                           "\"BOOL\"",
                           "{",
                           "}",
                           "[",
                           "]",
                           ",",
                           ":",
                           "\"",
                           "\\u0000",
                           "\\ud800",
                           "null",
                           "true",
                           "-1",
                           "1e3",
                           "0",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9223372036854775807",
                           "4294967296"};
constexpr std::array<std::uint64_t, 8> numbers{
    0, 1, 2, 8, 255, 4294967296, 9223372036854775807, 18446744073709551615U};

// Each takes a file and changes it in one way.
void flip(std::string& file, Random& random) {
  if (file.empty()) return;
  file[below(random, file.size())] ^= static_cast<char>(1U << below(random, 8));
}
void cut(std::string& file, Random& random) { file.resize(below(random, file.size() + 1)); }
void drop(std::string& file, Random& random) {
  const std::size_t at = below(random, file.size());
  file.erase(at, 1 + below(random, 8));
}
void splice(std::string& file, Random& random) {
  const std::string& other = seeds()[below(random, seeds().size())];
  const std::size_t from = below(random, other.size());
  file.insert(below(random, file.size() + 1), other, from, below(random, other.size() - from + 1));
}
void insert_word(std::string& file, Random& random) {
  file.insert(below(random, file.size() + 1), words[below(random, words.size())]);
}
void edit_length(std::string& file, Random& random) {
  std::uint64_t length = numbers[below(random, numbers.size())];
  if (file.size() < sizeof length) return;
  if (below(random, 2) == 0) length = below(random, file.size() + 2);
  std::memcpy(file.data(), &length, sizeof length);
}
void edit_number(std::string& file, Random& random) {
  const std::size_t start = below(random, file.size());
  const std::size_t at = file.find_first_of("0123456789", start);
  if (at == std::string::npos) return;
  const std::size_t end = std::min(file.find_first_not_of("0123456789", at), file.size());
  std::uint64_t value = 0;
  std::from_chars(file.data() + at, file.data() + end, value);
  const std::uint64_t near = value + below(random, 3) - 1;
  const std::uint64_t other = numbers[below(random, numbers.size())];
  file.replace(at, end - at, std::to_string(below(random, 2) == 0 ? near : other));
}
// The length again that the header has, so that what changed is read as a header.
void repair_length(std::string& file, Random&) {
  const std::size_t end = file.rfind('}');
  if (file.size() < 8 || end == std::string::npos || end < 8) return;
  const std::uint64_t length = end + 1 - 8;
  std::memcpy(file.data(), &length, sizeof length);
}
// As many bytes after the header as its last number says.
void repair_end(std::string& file, Random& random) {
  repair_length(file, random);
  const std::size_t end = file.rfind('}');
  const std::size_t digit = file.find_last_of("0123456789");
  if (end == std::string::npos || digit == std::string::npos || digit > end) return;
  std::size_t at = digit;
  while (at > 0 && file[at - 1] >= '0' && file[at - 1] <= '9') --at;
  std::uint64_t bytes = 0;
  std::from_chars(file.data() + at, file.data() + digit + 1, bytes);
  if (bytes < 4096) file.resize(end + 1 + bytes, 'd');
}

constexpr std::array changes{flip,        cut,         drop,        splice,        insert_word,
                             edit_length, edit_number, edit_number, repair_length, repair_end};

}  // namespace

int main(int count, char** arguments) {
  const long executions = count > 1 ? std::strtol(arguments[1], nullptr, 10) : 20'000;
  Random random(1);
  long accepted = 0;
  for (long i = 0; i < executions; ++i) {
    std::string file = seeds()[below(random, seeds().size())];
    const std::size_t times = below(random, 6);
    for (std::size_t k = 0; k < times; ++k) changes[below(random, changes.size())](file, random);
    if (below(random, 2) == 0) repair_end(file, random);
    accepted += read_or_refuse(std::as_bytes(std::span(file))) == Outcome::read ? 1 : 0;
  }
  std::cout << executions << " executions: " << accepted << " read, " << executions - accepted
            << " refused\n";
  // A driver that breaks everything or nothing tests little.
  return accepted > executions / 50 && accepted < executions ? 0 : 1;
}
