// The words of exams for places and sizes on the axes of a mesh.
#pragma once

#include <string>

#include "engine/base/text.hpp"
#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::grader {

// "tp 2 · pp 4": the axes on which a number is not the usual one.
template <int otherwise>
std::string words_of(const mesh::OfAxes<otherwise>& of) {
  std::string words;
  for (const mesh::Axis axis : mesh::usual_order) {
    if (of[axis] == otherwise) continue;
    words += text(words.empty() ? "" : " · ", name_of(axis), " ", of[axis]);
  }
  return words.empty() ? text(otherwise, " on every axis") : words;
}

}  // namespace lockstep::grader
