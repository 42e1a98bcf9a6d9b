#include "engine/train/pieces.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

// "0 0.weight 2 64,16 1 1024 1 0 512": a name has no space, as it is a safetensors' one.
std::string line_of(const Piece& piece) {
  std::string shape;
  for (const std::int64_t size : piece.shape) shape += text(shape.empty() ? "" : ",", size);
  const Slice& s = piece.slice;
  return text(static_cast<int>(piece.kind), " ", piece.name, " ",
              static_cast<int>(piece.value.dtype()), " ", shape.empty() ? "-" : shape, " ", s.outer,
              " ", s.along, " ", s.inner, " ", s.begin, " ", s.end);
}

// The contents of a line, without the elements.
struct Held {
  PieceKind kind;
  std::string name;
  DType dtype;
  Shape shape;
  Slice slice;
  int rank;           // who holds it
  std::size_t place;  // in that rank's list
};

Held held_of(const std::string& line, int rank, std::size_t place) {
  std::istringstream words(line);
  int kind = 0, dtype = 0;
  std::string shape;
  Held held{{}, {}, {}, {}, {}, rank, place};
  words >> kind >> held.name >> dtype >> shape >> held.slice.outer >> held.slice.along >>
      held.slice.inner >> held.slice.begin >> held.slice.end;
  held.kind = static_cast<PieceKind>(kind);
  held.dtype = static_cast<DType>(dtype);
  std::istringstream sizes(shape == "-" ? "" : shape);
  for (std::string size; std::getline(sizes, size, ',');) held.shape.push_back(std::stoll(size));
  return held;
}

std::uint64_t checksum_of_text(const std::string& words) {
  return checksum_of(std::as_bytes(std::span(words)));
}

std::uint64_t checksum_of_list(const std::vector<std::uint64_t>& numbers) {
  return checksum_of(std::as_bytes(std::span(numbers)));
}

// Gathers each rank's text, by rank, of any length.
std::vector<std::string> gather_texts(comm::ProcessGroup& group, const std::string& mine) {
  CpuDevice device;
  const Tensor length = full({1}, static_cast<double>(mine.size()), DType::int64, device);
  const Tensor lengths = empty({group.size()}, DType::int64, device);
  group.all_gather(length, lengths);
  const auto sizes = lengths.data<std::int64_t>();
  const Tensor letters = empty({std::ssize(mine)}, DType::uint8, device);
  std::ranges::copy(mine, letters.data<std::uint8_t>().begin());
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const Tensor all = empty({total}, DType::uint8, device);
  group.all_gather(letters, all, sizes);
  std::vector<std::string> by_rank;
  auto at = all.data<std::uint8_t>().begin();
  for (const std::int64_t size : sizes) {
    by_rank.emplace_back(at, at + size);
    at += size;
  }
  return by_rank;
}

// Two numbers of each rank, in one all-gather of a fixed size.
std::vector<std::pair<std::uint64_t, std::uint64_t>> gather_pairs(comm::ProcessGroup& group,
                                                                  std::uint64_t first,
                                                                  std::uint64_t second) {
  CpuDevice device;
  const Tensor mine = empty({2}, DType::int64, device);
  const Tensor all = empty({2 * group.size()}, DType::int64, device);
  mine.data<std::int64_t>()[0] = std::bit_cast<std::int64_t>(first);
  mine.data<std::int64_t>()[1] = std::bit_cast<std::int64_t>(second);
  group.all_gather(mine, all);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  const auto numbers = all.data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    pairs.emplace_back(std::bit_cast<std::uint64_t>(numbers[i]),
                       std::bit_cast<std::uint64_t>(numbers[i + 1]));
  }
  return pairs;
}

std::vector<Held> gather_held(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  std::string lines;
  for (const Piece& piece : pieces) lines += line_of(piece) + "\n";
  std::vector<Held> held;
  int rank = 0;
  for (const std::string& brought : gather_texts(group, lines)) {
    std::istringstream of_rank(brought);
    std::size_t place = 0;
    for (std::string line; std::getline(of_rank, line);) {
      held.push_back(held_of(line, rank, place++));
    }
    ++rank;
  }
  return held;
}

// A tensor of the whole, and the pieces of which it is put together.
struct Assembly {
  const Held* like;  // kind, name, dtype and shape
  std::vector<const Held*> from;
};

// Which piece of which tensor comes from whom: of equal ones `to`'s own, else the first rank's. The
// same on every rank, since all know all the lists.
std::vector<Assembly> plan_assembly(const std::vector<Held>& held, int to) {
  std::vector<Assembly> plan;
  std::map<std::pair<PieceKind, std::string>, std::size_t> places;
  for (const Held& one : held) {
    const auto [at, is_new] = places.try_emplace({one.kind, one.name}, plan.size());
    if (is_new) plan.push_back({&one, {}});
    auto& from = plan[at->second].from;
    if (is_whole(one.slice) && !from.empty() && !is_whole(from.front()->slice)) from.clear();
    if (!is_whole(one.slice) && !from.empty() && is_whole(from.front()->slice)) continue;
    const auto same =
        std::ranges::find_if(from, [&](const Held* other) { return other->slice == one.slice; });
    if (same == from.end()) {
      from.push_back(&one);
    } else if (one.rank == to) {
      *same = &one;
    }
  }
  for (const Assembly& one : plan) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const Held* piece : one.from) ranges.emplace_back(piece->slice.begin, piece->slice.end);
    std::ranges::sort(ranges);
    std::int64_t covered = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin <= covered) covered = std::max(covered, end);
    }
    if (covered >= one.from.front()->slice.along) continue;
    throw Error(text("the state of ", one.like->name, " is not whole: no rank holds place ",
                     covered, " of ", one.from.front()->slice.along));
  }
  return plan;
}

std::int64_t elements_of(const Slice& slice) {
  return slice.outer * (slice.end - slice.begin) * slice.inner;
}

// The rows of `slice`, as they lie in the whole and in the piece: f(whole's, piece's).
template <typename Rows>
void for_rows(const Tensor& whole, const Slice& slice, const Tensor& piece, const Rows& rows) {
  const std::int64_t run = (slice.end - slice.begin) * slice.inner;
  const Tensor in_whole = whole.view({-1}), in_piece = piece.view({-1});
  for (std::int64_t i = 0; i < slice.outer; ++i) {
    const std::int64_t start = (i * slice.along + slice.begin) * slice.inner;
    rows(in_whole.narrow(start, run), in_piece.narrow(i * run, run));
  }
}

}  // namespace

Slice whole_of(const Shape& shape) {
  const std::int64_t all = numel_of(shape);
  return {1, all, 1, 0, all};
}

bool is_whole(const Slice& slice) { return slice.begin == 0 && slice.end == slice.along; }

std::vector<Piece> whole_pieces(nn::Module& model, const optim::Optimizer& optimizer) {
  std::vector<Piece> pieces;
  const auto add = [&](PieceKind kind, const std::string& name, const Tensor& value) {
    pieces.push_back({kind, name, value.shape(), whole_of(value.shape()), value});
  };
  for (const Parameter* p : model.parameters()) add(PieceKind::parameter, p->name, p->value);
  for (const nn::Buffer* b : model.buffers()) add(PieceKind::buffer, b->name, b->value);
  for (const auto& [name, value] : optimizer.state()) add(PieceKind::optimizer_state, name, value);
  return pieces;
}

Agreement compare(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  std::vector<std::uint64_t> keys;
  std::vector<Tensor> values;
  for (const Piece& piece : pieces) {
    if (piece.kind != PieceKind::parameter) continue;
    keys.push_back(checksum_of_text(line_of(piece)));
    values.push_back(piece.value);
  }
  const std::vector<std::uint64_t> contents = checksums_of(values);
  const auto pairs = gather_pairs(group, checksum_of_list(keys), checksum_of_list(contents));
  Agreement agreement;
  for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
    const auto& [key, content] = pairs[rank];
    agreement.hashes.push_back(content);
    if (key != pairs.front().first) agreement.holders = Agreement::Holders::parts;
    const bool differs = content != pairs.front().second;
    if (differs && agreement.differs < 0) agreement.differs = static_cast<int>(rank);
  }
  if (agreement.holders == Agreement::Holders::replicas) return agreement;

  std::string mine;  // a line a piece: its key, its content
  for (std::size_t i = 0; i < keys.size(); ++i) mine += text(keys[i], " ", contents[i], "\n");
  std::map<std::uint64_t, std::uint64_t> content_of;  // by key
  agreement.differs = -1;
  int rank = 0;
  for (const std::string& brought : gather_texts(group, mine)) {
    std::istringstream numbers(brought);
    for (std::uint64_t key = 0, content = 0; numbers >> key >> content;) {
      const bool differs = content_of.try_emplace(key, content).first->second != content;
      if (differs && agreement.differs < 0) agreement.differs = rank;
    }
    ++rank;
  }
  return agreement;
}

std::vector<WholeTensor> gather_whole(comm::ProcessGroup& group, int to,
                                      const std::vector<Piece>& pieces, Device& device) {
  std::vector<std::uint64_t> keys;
  bool all_whole = true;
  for (const Piece& piece : pieces) {
    keys.push_back(checksum_of_text(line_of(piece)));
    all_whole = all_whole && is_whole(piece.slice);
  }
  const auto pairs = gather_pairs(group, checksum_of_list(keys), all_whole ? 1 : 0);
  std::vector<WholeTensor> whole;
  if (std::ranges::all_of(pairs, [&](const auto& pair) {
        return pair.second == 1 && pair.first == pairs.front().first;
      })) {
    if (group.rank() != to) return {};
    for (const Piece& piece : pieces)
      whole.push_back({piece.kind, piece.name, piece.value.view(piece.shape)});
    return whole;
  }

  const std::vector<Held> held = gather_held(group, pieces);
  for (const Assembly& one : plan_assembly(held, to)) {
    const bool mine = group.rank() == to;
    const Tensor value = mine ? empty(one.like->shape, one.like->dtype, device) : Tensor();
    for (const Held* from : one.from) {
      const bool held_here = from->rank == group.rank();
      if (!mine && held_here) group.send(pieces[from->place].value.view({-1}), to);
      if (!mine) continue;
      Tensor part = held_here ? pieces[from->place].value
                              : empty({elements_of(from->slice)}, from->dtype, device);
      if (!held_here) group.recv(part, from->rank);
      for_rows(value, from->slice, part,
               [](const Tensor& in_whole, const Tensor& in_piece) { in_whole.copy_(in_piece); });
    }
    if (mine) whole.push_back({one.like->kind, one.like->name, value});
  }
  return whole;
}

checkpoint::Contents gather_contents(comm::ProcessGroup& group, int to,
                                     const std::vector<Piece>& pieces, Device& device,
                                     std::string_view optimizer) {
  checkpoint::Contents contents{{}, {}, std::string(optimizer)};
  for (const WholeTensor& tensor : gather_whole(group, to, pieces, device)) {
    const bool of_optimizer = tensor.kind == PieceKind::optimizer_state;
    (of_optimizer ? contents.optimizer : contents.model).push_back({tensor.name, tensor.value});
  }
  return contents;
}

Tensor cut(const Tensor& whole, const Slice& slice) {
  const Tensor part = whole.empty_like(elements_of(slice));
  for_rows(whole, slice, part,
           [](const Tensor& in_whole, const Tensor& in_piece) { in_piece.copy_(in_whole); });
  return part;
}

}  // namespace lockstep::train
