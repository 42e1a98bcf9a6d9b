#include "engine/replicas/agree.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::replicas {
namespace {

std::string line_of(const char* kind, const std::string& name, const Tensor& value) {
  return text(kind, " ", name, " ", name_of(value.dtype()), " ", text_of(value.shape()));
}

std::vector<std::string> lines_of(nn::Module& module) {
  std::vector<std::string> lines;
  for (const Parameter* parameter : module.parameters()) {
    lines.push_back(line_of("parameter", parameter->name, parameter->value));
  }
  for (const nn::Buffer* buffer : module.buffers()) {
    lines.push_back(line_of("buffer", buffer->name, buffer->value));
  }
  return lines;
}

// `words` of rank `root`, on every rank.
std::string told_by(comm::ProcessGroup& group, int root, const std::string& words, Device& device) {
  const Tensor length = empty({1}, DType::int64, device);
  length.data<std::int64_t>()[0] = std::ssize(words);
  group.broadcast(length, root);
  const Tensor letters = empty({length.data<std::int64_t>()[0]}, DType::uint8, device);
  const auto bytes = letters.data<std::uint8_t>();
  if (group.rank() == root) std::ranges::copy(words, bytes.begin());
  group.broadcast(letters, root);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> split_lines(const std::string& all) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string line_at(const std::vector<std::string>& lines, std::int64_t at) {
  const auto index = static_cast<std::size_t>(at);
  return index < lines.size() ? lines[index] : "nothing more";
}

// Place of the first line that differs; -1 when none does.
std::int64_t first_difference(const std::vector<std::string>& mine,
                              const std::vector<std::string>& theirs) {
  const auto [a, b] = std::ranges::mismatch(mine, theirs);
  return a == mine.end() && b == theirs.end() ? -1 : a - mine.begin();
}

}  // namespace

std::optional<Disagreement> first_disagreement(comm::ProcessGroup& group,
                                               const std::vector<std::string>& mine) {
  if (group.size() == 1) return std::nullopt;
  CpuDevice device;  // of these words; what is trained on may have no numbers
  std::string all;
  for (const std::string& line : mine) all += line + "\n";
  const std::vector<std::string> of_rank_0 = split_lines(told_by(group, 0, all, device));

  const Tensor differs_at = empty({1}, DType::int64, device);
  const Tensor by_rank = empty({group.size()}, DType::int64, device);
  differs_at.data<std::int64_t>()[0] = first_difference(mine, of_rank_0);
  group.all_gather(differs_at, by_rank);
  const auto places = by_rank.data<std::int64_t>();
  const auto differs = std::ranges::find_if(places, [](std::int64_t place) { return place >= 0; });
  if (differs == places.end()) return std::nullopt;
  const int rank = static_cast<int>(differs - places.begin());
  return Disagreement{rank, line_at(of_rank_0, *differs),
                      told_by(group, rank, line_at(mine, *differs), device)};
}

void check_agree(comm::ProcessGroup& group, nn::Module& module) {
  const auto differs = first_disagreement(group, lines_of(module));
  if (!differs) return;
  throw ContractError(text("the replicas are not one model: ", group.names().name(0), " has ",
                           differs->of_rank_0, " where ", group.names().name(differs->rank),
                           " has ", differs->of_rank,
                           "; every rank must build the same model, so look at what its sizes "
                           "and names are made of on these two ranks"));
}

void make_equal(comm::ProcessGroup& group, nn::Module& module) {
  if (group.size() == 1) return;
  check_agree(group, module);
  broadcast_parameters(group, module, 0);
}

}  // namespace lockstep::replicas
