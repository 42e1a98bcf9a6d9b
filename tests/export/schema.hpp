// Whether a document is as a schema says: the part of JSON Schema that our schemas use (type, enum,
// required, properties, additionalProperties, items, minimum, maximum), and two words of ours:
// "values" is the schema of all keys that "properties" does not name, "any" a list of schemas of
// which one must fit. For XML, which children and attributes an element may have, and which
// attributes it must have.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::test {

// What is wrong, each with its place; empty when nothing is.
std::vector<std::string> complaints_of(const nlohmann::json& document, const nlohmann::json& schema,
                                       const std::string& place = "");

// {"name", "attributes": {}, "children": [], "text"} of the root element.
//   Throws  std::runtime_error when the text is not well formed
nlohmann::json read_xml(const std::string& text);
std::vector<std::string> complaints_of_xml(const nlohmann::json& element,
                                           const nlohmann::json& schema);

}  // namespace lockstep::test
