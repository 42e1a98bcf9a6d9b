// Text from values, since the toolchain floor has no <format>: text("rank ", 3, " of ", n).
// Every check and every sentence of an error is one such call, so a call has to be cheap to
// compile: it makes a list of what is to be written, and one function writes any list.
#pragma once

#include <ostream>
#include <sstream>
#include <string>

namespace lockstep {

// A value that lives at least as long as the call, and how it is written.
class Written {
 public:
  Written(const char* words) : value_(words), write_(write_words) {}
  template <typename Value>
  Written(const Value& value) : value_(&value), write_(write_value<Value>) {}

  friend std::ostream& operator<<(std::ostream& out, const Written& written) {
    written.write_(out, written.value_);
    return out;
  }

 private:
  static void write_words(std::ostream& out, const void* words);
  template <typename Value>
  static void write_value(std::ostream& out, const void* value) {
    out << *static_cast<const Value*>(value);
  }

  const void* value_;
  void (*write_)(std::ostream&, const void*);
};

std::string text_of(const Written* first, std::size_t count);

template <typename... Values>
std::string text(const Values&... values) {
  const Written all[] = {Written(values)...};
  return text_of(all, sizeof...(values));
}

}  // namespace lockstep
