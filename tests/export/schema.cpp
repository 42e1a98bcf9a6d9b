#include "tests/export/schema.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep::test {
namespace {

using nlohmann::json;
using Complaints = std::vector<std::string>;

bool is_of_type(const json& document, const std::string& type) {
  if (type == "object") return document.is_object();
  if (type == "array") return document.is_array();
  if (type == "string") return document.is_string();
  if (type == "boolean") return document.is_boolean();
  return type == "number" && document.is_number();
}

void add(Complaints& to, Complaints from) { to.insert(to.end(), from.begin(), from.end()); }

void look_at_object(const json& document, const json& schema, const std::string& place,
                    Complaints& complaints) {
  for (const json& key : schema.value("required", json::array())) {
    if (!document.contains(key)) complaints.push_back(place + " lacks " + key.get<std::string>());
  }
  const json known = schema.value("properties", json::object());
  for (const auto& [key, value] : document.items()) {
    if (known.contains(key)) {
      add(complaints, complaints_of(value, known.at(key), place + "/" + key));
    } else if (schema.contains("values")) {
      add(complaints, complaints_of(value, schema.at("values"), place + "/" + key));
    } else if (schema.value("additionalProperties", true) == false) {
      complaints.push_back(place + " has an unknown key " + key);
    }
  }
}

// Elements, attributes, texts and the five entities: what our writer uses.
class XmlReader {
 public:
  explicit XmlReader(const std::string& text) : text_(text) {}
  json document() {
    blanks();
    if (take("<?xml")) at_ = after("?>");
    blanks();
    json root = element();
    blanks();
    if (at_ != text_.size()) fail("something stands behind the root");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("at byte " + std::to_string(at_) + ": " + why);
  }
  bool take(const std::string& what) {
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  std::size_t after(const std::string& what) const {
    const std::size_t found = text_.find(what, at_);
    if (found == std::string::npos) fail("no " + what);
    return found + what.size();
  }
  void blanks() {
    while (at_ < text_.size() && std::string(" \n\t\r").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  std::string name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '-' || text_[at_] == '_')) {
      ++at_;
    }
    if (start == at_) fail("a name is expected");
    return text_.substr(start, at_ - start);
  }
  std::string letters(char end) {
    std::string out;
    while (at_ < text_.size() && text_[at_] != end) {
      if (text_[at_] == '<') fail("a < that is not escaped");
      if (text_[at_] != '&') {
        out += text_[at_++];
      } else if (take("&lt;")) {
        out += '<';
      } else if (take("&gt;")) {
        out += '>';
      } else if (take("&amp;")) {
        out += '&';
      } else if (take("&quot;")) {
        out += '"';
      } else if (take("&#39;")) {
        out += '\'';
      } else {
        fail("an & that is not escaped");
      }
    }
    return out;
  }
  json element() {
    if (!take("<")) fail("an element is expected");
    json found = {{"name", name()}, {"attributes", json::object()}, {"children", json::array()}};
    std::string said;
    for (blanks(); !take(">"); blanks()) {
      if (take("/>")) {
        found["text"] = "";
        return found;
      }
      const std::string key = name();
      if (!take("=\"")) fail("an attribute without a value");
      found["attributes"][key] = letters('"');
      ++at_;
    }
    for (;;) {
      said += letters('<');
      if (take("</" + found.at("name").get<std::string>() + ">")) break;
      found["children"].push_back(element());
    }
    found["text"] = said;
    return found;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> complaints_of(const json& document, const json& schema,
                                       const std::string& place) {
  Complaints complaints;
  if (schema.contains("any")) {
    const bool fits =
        std::any_of(schema.at("any").begin(), schema.at("any").end(),
                    [&](const json& one) { return complaints_of(document, one).empty(); });
    if (!fits) complaints.push_back(place + " is none of what it may be");
  }
  if (schema.contains("type") && !is_of_type(document, schema.at("type"))) {
    complaints.push_back(place + " is no " + schema.at("type").get<std::string>());
    return complaints;
  }
  if (schema.contains("enum")) {
    const json& all = schema.at("enum");
    if (std::find(all.begin(), all.end(), document) == all.end()) {
      complaints.push_back(place + " may not be " + document.dump());
    }
  }
  if (schema.contains("minimum") && document < schema.at("minimum")) {
    complaints.push_back(place + " is too small");
  }
  if (schema.contains("maximum") && document > schema.at("maximum")) {
    complaints.push_back(place + " is too large");
  }
  if (document.is_object()) look_at_object(document, schema, place, complaints);
  if (document.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < document.size(); ++i) {
      add(complaints,
          complaints_of(document[i], schema.at("items"), place + "/" + std::to_string(i)));
    }
  }
  return complaints;
}

json read_xml(const std::string& text) { return XmlReader(text).document(); }

std::vector<std::string> complaints_of_xml(const json& element, const json& schema) {
  const std::string name = element.at("name");
  if (!schema.contains(name)) return {"there is no element " + name};
  Complaints complaints;
  const json& may = schema.at(name);
  const auto allowed = [&](const char* what, const std::string& one) {
    const json& all = may.at(what);
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const auto& [key, value] : element.at("attributes").items()) {
    if (!allowed("attributes", key)) complaints.push_back(name + " has no attribute " + key);
  }
  for (const json& key : may.value("required", json::array())) {
    if (!element.at("attributes").contains(key)) {
      complaints.push_back(name + " lacks the attribute " + key.get<std::string>());
    }
  }
  for (const json& child : element.at("children")) {
    const std::string inner = child.at("name");
    if (!allowed("children", inner)) complaints.push_back(name + " holds no " + inner);
    add(complaints, complaints_of_xml(child, schema));
  }
  return complaints;
}

}  // namespace lockstep::test
