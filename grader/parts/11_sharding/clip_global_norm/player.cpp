// Plays clip_global_norm: pieces that the judge made, on ranks that are one group, or rows and
// columns of them.
#include "engine/replicas/clip_global_norm.hpp"

#include "grader/parts/11_sharding/clip_global_norm/case.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

Tensor tensor_of(const HeldPiece& piece, Device& device) {
  if (!piece.defined) return {};
  const auto count = static_cast<std::int64_t>(piece.values.size() / bytes_of(piece.dtype));
  // A shard is flat; a whole gradient has the shape of its parameter.
  const Shape shape = count > 0 && count % 6 == 0 ? Shape{2, 3, count / 6}
                      : count == 1                ? Shape{}
                                                  : Shape{count};
  const Tensor tensor = empty(shape, piece.dtype, device, MemoryKind::gradients);
  write_bytes(tensor, piece.values);
  return tensor;
}

std::vector<Tensor> tensors_of(const std::vector<HeldPiece>& pieces, Device& device) {
  std::vector<Tensor> all;
  for (const HeldPiece& piece : pieces) all.push_back(tensor_of(piece, device));
  return all;
}

std::vector<Bytes> bytes_of_all(const std::vector<Tensor>& tensors) {
  std::vector<Bytes> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.defined() ? copy_of(tensor) : Bytes{});
  return all;
}

ClipReport report_on(std::span<comm::ProcessGroup* const> groups, const ClipCall& call,
                     Device& device) {
  const std::vector<Tensor> counted = tensors_of(call.counted, device);
  const std::vector<Tensor> copies = tensors_of(call.copies, device);
  ClipReport report;
  Tensor norm;
  const auto clip = [&] {
    norm = replicas::clip_global_norm(groups, {counted, copies}, call.max_norm);
  };
  const bool counts = std::ranges::any_of(counted, &Tensor::defined);
  if (counts || groups.empty()) {
    clip();
  } else {
    report.ending = ending_of<ContractError>(clip);
  }
  report.defined = norm.defined();
  if (norm.defined()) {
    report.dtype = norm.dtype();
    report.norm = copy_of(norm);
  }
  report.counted = bytes_of_all(counted);
  report.copies = bytes_of_all(copies);
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<ClipCase>(
      played, [](comm::ProcessGroup& members, const ClipCase& c, Device& device) {
        std::vector<std::unique_ptr<comm::ProcessGroup>> made;
        std::vector<comm::ProcessGroup*> groups;
        if (c.columns > 0) {
          const int row = members.rank() / c.columns, column = members.rank() % c.columns;
          made.push_back(members.split(row, column));
          made.push_back(members.split(column, row));
          groups = {made[0].get(), made[1].get()};
        } else if (c.columns == 0) {
          groups = {&members};
        }
        std::vector<ClipReport> reports;
        for (const ClipCall& call : c.calls) reports.push_back(report_on(groups, call, device));
        return reports;
      });
}

}  // namespace lockstep::grader
