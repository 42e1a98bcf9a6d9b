// JSON that a checkpoint holds, read without trust: of two equal keys a parser keeps one in
// silence, and a field that nobody reads may be a misspelt one. Private to this room.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/checkpoint/safetensors.hpp"

namespace lockstep::checkpoint {

using Json = nlohmann::ordered_json;

// The document.
//   Throws  CheckpointError, which names `file`, when it is no JSON, has a key twice, or is nested
//           deeper than `depth_max` objects and lists
Json parse_json(const std::string& json, const std::string& file, int depth_max);

class Fields;
// Reads the field "format" of a document, which ends in the number of its version.
//   Throws  NewerFormat when that number is larger than that of `format`; CheckpointError when it
//   is
//           another format
void check_format(Fields& fields, const std::string& format, const std::string& where);

// The fields of an object, each read once. Both must outlive this.
//   Throws  CheckpointError, which names `where`, what was expected and what was found
class Fields {
 public:
  Fields(const Json& object, const std::string& where);

  std::int64_t count(const char* name);  // a whole number from 0
  std::uint64_t bits(const char* name);  // the same, up to 2^64
  float number(const char* name);
  std::string word(const char* name);
  Shape sizes(const char* name);  // at most Shape::axes_max of them
  Metadata strings(const char* name);
  const Json& list(const char* name);
  const Json& any(const char* name);
  const Json* optional(const char* name);
  void done() const;  // nothing more is there
  [[noreturn]] void refuse(const std::string& expected, const Json& seen) const;

 private:
  const Json& object_;
  const std::string& where_;
  std::size_t read_ = 0;
};

}  // namespace lockstep::checkpoint
