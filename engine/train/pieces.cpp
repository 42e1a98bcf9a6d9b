#include "engine/train/pieces.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"
#include "engine/checkpoint/finite.hpp"
#include "engine/train/held.hpp"

namespace lockstep::train {
namespace {

std::uint64_t checksum_of_text(const std::string& words) {
  return checksum_of(std::as_bytes(std::span(words)));
}

std::uint64_t checksum_of_list(const std::vector<std::uint64_t>& numbers) {
  return checksum_of(std::as_bytes(std::span(numbers)));
}

// Two numbers of each rank, in one all-gather of a fixed size. A rank whose state is not finite
// says so in the place of its first number, which is a checksum.
std::vector<std::pair<std::uint64_t, std::uint64_t>> gather_pairs(comm::ProcessGroup& group,
                                                                  const std::vector<Piece>& state,
                                                                  std::uint64_t first,
                                                                  std::uint64_t second) {
  constexpr std::uint64_t not_finite = 0x4E07'F191'7E00'0000;
  const std::string found = checkpoint::first_not_finite(state);
  if (!found.empty()) first = not_finite;
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
  const auto broken = std::ranges::find(pairs, not_finite, [](const auto& p) { return p.first; });
  if (broken == pairs.end()) return pairs;
  const auto rank = static_cast<std::size_t>(broken - pairs.begin());
  throw NotFinite(text(checkpoint::gather_texts(group, found)[rank], " on rank ", rank));
}

// The elements that come from one rank.
struct Taken {
  const Held* from;
  Boxes boxes;  // parts of the holder's
};

// A tensor of the whole, and where its elements come from.
struct Assembly {
  const Held* like;  // kind, name, dtype and shape
  std::vector<Taken> taken;
};

// The origin of each element of a tensor: `to`'s own first, then those of a rank that holds all.
std::vector<Taken> plan_of(std::vector<const Held*> holders, int to) {
  const Shape& shape = holders.front()->shape;
  std::ranges::stable_sort(holders, {}, [&](const Held* one) {
    return one->rank == to ? 0 : is_whole(one->boxes, shape) ? 1 : 2;
  });
  Boxes missing = whole_of(shape);
  std::vector<Taken> all;
  for (const Held* one : holders) {
    Boxes boxes = take(missing, one->boxes);
    if (!boxes.empty()) all.push_back({one, std::move(boxes)});
  }
  check_whole(*holders.front(), missing);
  return all;
}

// The same on every rank, since all know all the lists.
std::vector<Assembly> plan_assembly(const std::vector<Held>& held, int to) {
  std::vector<Assembly> plan;
  for (const auto& of_tensor : by_tensor(held)) {
    plan.push_back({of_tensor.front(), plan_of(of_tensor, to)});
  }
  return plan;
}

// The whole tensor: its name, type and shape.
std::string tensor_of(const Held& held) {
  return text(held.name, " ", static_cast<int>(held.dtype), " ", list_of(held.shape));
}

// The common parts of a box and each of a tensor's boxes, of which it is one itself.
Boxes regions_of(const Box& box, const Boxes& all) {
  Boxes regions;
  for (const Box& other : all) {
    const auto common = intersection(box, other);
    if (common && std::ranges::find(regions, *common) == regions.end()) regions.push_back(*common);
  }
  return regions;
}

// The first rank that holds other bits than one before it; -1: none does.
int first_that_differs(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  const std::vector<Held> held = gather_held(group, pieces);
  std::map<std::string, Boxes> boxes_of;  // of each tensor, each box once
  for (const Held& one : held) {
    Boxes& all = boxes_of[tensor_of(one)];
    for (const Box& box : one.boxes) {
      if (std::ranges::find(all, box) == all.end()) all.push_back(box);
    }
  }
  struct Region {
    std::string of;
    int rank;
  };
  std::vector<Region> regions;  // by rank, as in the lists
  std::vector<std::int64_t> counts(static_cast<std::size_t>(group.size()));
  std::vector<Tensor> mine;
  for (const Held& one : held) {
    const std::string tensor = tensor_of(one);
    for (const Box& box : one.boxes) {
      for (const Box& region : regions_of(box, boxes_of[tensor])) {
        regions.push_back({text(tensor, " ", text_of(region)), one.rank});
        ++counts[static_cast<std::size_t>(one.rank)];
        if (one.rank == group.rank()) mine.push_back(part_of(pieces[one.place], {region}));
      }
    }
  }
  const std::vector<std::uint64_t> contents = checksums_of(mine);
  CpuDevice device;
  const Tensor told = empty({std::ssize(contents)}, DType::int64, device);
  const Tensor all = empty({std::ssize(regions)}, DType::int64, device);
  std::ranges::transform(contents, told.data<std::int64_t>().begin(),
                         [](std::uint64_t one) { return std::bit_cast<std::int64_t>(one); });
  group.all_gather(told, all, counts);
  std::map<std::string, std::int64_t> content_of;
  const auto contents_of_all = all.data<std::int64_t>();
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const auto [first, is_new] = content_of.try_emplace(regions[i].of, contents_of_all[i]);
    if (first->second != contents_of_all[i]) return regions[i].rank;
  }
  return -1;
}

}  // namespace

std::vector<Piece> whole_pieces(nn::Module& model, const optim::Optimizer& optimizer) {
  return checkpoint::contents_of(model, optimizer).pieces;
}

void check_finite(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  gather_pairs(group, pieces, 0, 0);
}

Agreement compare(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  std::vector<std::uint64_t> keys;
  std::vector<Tensor> values;
  std::vector<Piece> parameters;
  for (const Piece& piece : pieces) {
    if (piece.kind != PieceKind::parameter) continue;
    parameters.push_back(piece);
    keys.push_back(checksum_of_text(line_of(piece)));
    values.push_back(piece.value);
  }
  const std::vector<std::uint64_t> contents = checksums_of(values);
  const auto pairs =
      gather_pairs(group, pieces, checksum_of_list(keys), checksum_of_list(contents));
  Agreement agreement;
  for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
    const auto& [key, content] = pairs[rank];
    agreement.hashes.push_back(content);
    if (key != pairs.front().first) agreement.holders = Agreement::Holders::parts;
    const bool differs = content != pairs.front().second;
    if (differs && agreement.differs < 0) agreement.differs = static_cast<int>(rank);
  }
  if (agreement.holders == Agreement::Holders::replicas) return agreement;

  agreement.differs = first_that_differs(group, parameters);
  return agreement;
}

std::vector<Piece> gather_whole(comm::ProcessGroup& group, int to, const std::vector<Piece>& pieces,
                                Device& device) {
  std::vector<std::uint64_t> keys;
  bool all_whole = true;
  for (const Piece& piece : pieces) {
    keys.push_back(checksum_of_text(line_of(piece)));
    all_whole = all_whole && is_whole(piece.boxes, piece.shape);
  }
  const auto pairs = gather_pairs(group, pieces, checksum_of_list(keys), all_whole ? 1 : 0);
  std::vector<Piece> whole;
  if (std::ranges::all_of(pairs, [&](const auto& pair) {
        return pair.second == 1 && pair.first == pairs.front().first;
      })) {
    if (group.rank() != to) return {};
    for (const Piece& piece : pieces) {
      whole.push_back(piece);
      whole.back().value = piece.value.view(piece.shape);
    }
    return whole;
  }

  const std::vector<Held> held = gather_held(group, pieces);
  // State that is offloaded from a GPU travels as that of the GPU does.
  const auto part_here = [&](std::size_t piece, const Boxes& boxes) {
    const Tensor part = part_of(pieces[piece], boxes);
    return device.numbers() == Numbers::away ? to_device(part, device) : part;
  };
  for (const Assembly& one : plan_assembly(held, to)) {
    const bool mine = group.rank() == to;
    const Tensor value = mine ? empty(one.like->shape, one.like->dtype, device) : Tensor();
    for (const auto& [from, boxes] : one.taken) {
      const bool held_here = from->rank == group.rank();
      if (!mine && held_here) group.send(part_here(from->place, boxes).view({-1}), to);
      if (!mine) continue;
      const Tensor part =
          held_here ? part_here(from->place, boxes) : empty({numel_of(boxes)}, from->dtype, device);
      if (!held_here) group.recv(part, from->rank);
      place(part, boxes, value);
    }
    if (!mine) continue;
    const Shape& shape = one.like->shape;
    whole.push_back({one.like->kind, one.like->name, shape, whole_of(shape), value});
  }
  return whole;
}

checkpoint::Contents gather_contents(comm::ProcessGroup& group, int to,
                                     const std::vector<Piece>& pieces, Device& device,
                                     std::string_view optimizer) {
  return {gather_whole(group, to, pieces, device), std::string(optimizer)};
}

}  // namespace lockstep::train
