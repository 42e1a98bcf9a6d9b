// Many versions of one file as one translation unit: the compiler reads the headers once, and each
// version's functions get names of their own, because everything that a version has in a namespace
// is put into one more inside it,
//
//   namespace lockstep::collectives { namespace version_3 {
//
// Files and line numbers in what versions say, at run time too, are those of the version alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::grader {

// A version as it stands in a unit. Versions share one when their includes are the same.
struct UnitPart {
  std::string includes;  // its #include lines
  std::string body;      // all its other lines, with the inner namespaces
};

// nullopt for what cannot share a unit, or might mean something else there: what is declared
// outside of a namespace, other directives than #include, raw strings, braces that do not match.
std::optional<UnitPart> unit_part(const std::string& source, const std::string& inner);

// The text of the unit.
//   files  how each version's file is named in messages
std::string unit_of(const std::vector<UnitPart>& parts, const std::vector<std::string>& files);

}  // namespace lockstep::grader
