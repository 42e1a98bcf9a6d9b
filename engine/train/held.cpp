#include "engine/train/held.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"

namespace lockstep::train {
namespace {

Shape sizes_of(const std::string& list) {
  std::istringstream words(list);
  Shape sizes;
  for (std::string size; std::getline(words, size, ',');) sizes.push_back(std::stoll(size));
  return sizes;
}

Held held_of(const std::string& line, int rank, std::size_t place) {
  std::istringstream words(line);
  int kind = 0, dtype = 0;
  std::string shape;
  Held held{{}, {}, {}, {}, {}, rank, place};
  words >> kind >> held.name >> dtype >> shape;
  held.kind = static_cast<PieceKind>(kind);
  held.dtype = static_cast<DType>(dtype);
  if (shape != "-") held.shape = sizes_of(shape);
  for (std::string box; words >> box;) {
    const std::size_t dash = box.find('-');
    held.boxes.push_back({sizes_of(box.substr(0, dash)), sizes_of(box.substr(dash + 1))});
  }
  return held;
}

}  // namespace

std::string list_of(const Shape& sizes) {
  std::string list;
  for (const std::int64_t size : sizes) list += text(list.empty() ? "" : ",", size);
  return list;
}

// A name has no space, as it is a safetensors' one. Of a scalar, the shape and its box are "-".
std::string line_of(const Piece& piece) {
  std::string line = text(static_cast<int>(piece.kind), " ", piece.name, " ",
                          static_cast<int>(piece.value.dtype()), " ",
                          piece.shape.empty() ? "-" : list_of(piece.shape));
  for (const Box& box : piece.boxes) line += text(" ", list_of(box.begin), "-", list_of(box.end));
  return line;
}

std::vector<Held> gather_held(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  std::string lines;
  for (const Piece& piece : pieces) lines += line_of(piece) + "\n";
  std::vector<Held> held;
  int rank = 0;
  for (const std::string& brought : checkpoint::gather_texts(group, lines)) {
    std::istringstream of_rank(brought);
    std::size_t place = 0;
    for (std::string line; std::getline(of_rank, line);) {
      held.push_back(held_of(line, rank, place++));
    }
    ++rank;
  }
  return held;
}

std::vector<std::vector<const Held*>> by_tensor(const std::vector<Held>& held) {
  std::vector<std::vector<const Held*>> holders;
  std::map<std::pair<PieceKind, std::string>, std::size_t> places;
  for (const Held& one : held) {
    const auto [at, is_new] = places.try_emplace({one.kind, one.name}, holders.size());
    if (is_new) holders.emplace_back();
    holders[at->second].push_back(&one);
  }
  return holders;
}

void check_whole(const Held& tensor, const Boxes& missing) {
  const std::int64_t count = numel_of(tensor.shape);
  std::int64_t first = count;  // that is missing, of the flat tensor
  for (const Box& box : missing) {
    for_runs(tensor.shape, box,
             [&](std::int64_t at, std::int64_t) { first = std::min(first, at); });
  }
  if (first == count) return;
  throw Error(text("the state of ", tensor.name, " is not whole: no rank holds place ", first,
                   " of ", count));
}

Tensor part_of(const Piece& piece, const Boxes& wanted) {
  return wanted == piece.boxes ? piece.value : cut_of_part(piece.value, piece.boxes, wanted);
}

}  // namespace lockstep::train
