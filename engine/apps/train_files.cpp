#include "engine/apps/train_files.hpp"

#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/destination.hpp"
#include "engine/base/units.hpp"
#include "engine/checkpoint/file.hpp"
#include "engine/trace/page.hpp"

namespace lockstep::apps {
namespace {

namespace fs = std::filesystem;

// One input, as a rank read it.
struct Read {
  std::int64_t size = 0;  // in the input's unit
  std::uint64_t checksum = 0;
  bool operator==(const Read&) const = default;
};

struct Input {
  std::string name, unit;
  Read mine;
};

// A log may be a pipe or a device, which another program reads.
void check_log(const std::string& file) {
  std::error_code unseen;
  const fs::file_status there = fs::status(file, unseen);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) return;
  check_destination("--log", file);
}

std::string content_of(const fs::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

Read read_of(std::string_view bytes) {
  return {std::ssize(bytes), checksum_of(std::as_bytes(std::span(bytes)))};
}

// Some samples of the whole set: two sets of one size that differ, differ somewhere in these, or
// are hardly two.
Read read_of(const data::Dataset& dataset) {
  constexpr std::int64_t samples = 64;
  CpuDevice host;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < samples; ++i) places.push_back(i * (dataset.size() - 1) / samples);
  const data::Batch batch = dataset.batch(places, DType::float32, host);
  const std::array sums{checksum_of(batch.inputs.raw_bytes()),
                        checksum_of(batch.labels.raw_bytes())};
  return {dataset.size(), checksum_of(std::as_bytes(std::span(sums)))};
}

// Always as many, so that ranks with different options can be compared, too.
std::array<Input, 2> inputs_of(const Arguments& arguments, const Datasets& datasets) {
  std::array<Input, 2> inputs{Input{"--data " + datasets.name, "sample", {}},
                              Input{"--init", "byte", {}}};
  if (datasets.text) {
    inputs[0].unit = "byte";
    inputs[0].mine = {datasets.text->bytes, datasets.text->checksum};
  } else if (train::has_numbers(arguments)) {
    inputs[0].mine = read_of(*datasets.train);
  }
  if (arguments.given("init")) {
    inputs[1].name += " " + arguments.get("init");
    inputs[1].mine = read_of(content_of(arguments.get("init")));
  }
  return inputs;
}

std::string told_of(const Input& input, const Read& read) {
  if (read.size != input.mine.size || read == input.mine) return counted(read.size, input.unit);
  return text("other ", input.unit, "s, as many");
}

}  // namespace

void check_files(const Arguments& arguments) {
  const std::string& folder = arguments.get("checkpoint");
  arguments.integer("save-every", 0);
  if (!folder.empty()) check_folder_destination("--checkpoint", folder);
  if (arguments.given("trace")) {
    trace::check_file_name(arguments.get("trace"));
    check_destination("--trace", arguments.get("trace"));
  }
  if (arguments.given("log")) check_log(arguments.get("log"));
  if (arguments.given("export")) {
    check_destination("--export", arguments.get("export"));
    check_destination("--export", checkpoint::NewFile::temporary_of(arguments.get("export")));
  }
  if (arguments.given("init")) checkpoint::OldFile(arguments.get("init"));
}

checkpoint::Wish wish_of(const Arguments& arguments, const launch::Lookup& lookup) {
  checkpoint::Wish wish{arguments.get("checkpoint")};
  if (arguments.flag("resume")) wish.resume = checkpoint::Resume::latest;
  if (arguments.has("--resume auto")) wish.resume = checkpoint::Resume::automatic;
  if (!launch::is_launched(lookup)) return wish;
  const launch::Environment environment = launch::read_environment(lookup);
  wish.attempt = environment.round.value_or(environment.restart_count);
  wish.run = environment.run_id;
  return wish;
}

void check_shared_text(const Arguments& arguments, std::int64_t ranks) {
  const std::string data = data_name(arguments);
  if (ranks < 2 || !data.starts_with("text:")) return;
  const std::string file = data.substr(5);
  std::error_code unseen;
  const fs::file_status there = fs::status(file, unseen);
  const bool is_input = file == "/dev/stdin" || file.starts_with("/dev/fd/") ||
                        file.starts_with("/proc/self/fd/");  // of one process, whatever it is
  const bool is_kept = fs::is_regular_file(there) || fs::is_directory(there);
  if (!fs::exists(there) || (is_kept && !is_input)) return;
  const char* kind = is_input                       ? "an input of one process"
                     : fs::is_fifo(there)           ? "a pipe"
                     : fs::is_character_file(there) ? "a device"
                                                    : "no regular file";
  throw UsageError(
      text("--data ", data, ": ", file, " is ", kind, ", whose bytes can be read once, and ", ranks,
           " ranks read the text; write it to a file first (… > text.txt) and pass --data "
           "text:text.txt"));
}

void compare_inputs(const Arguments& arguments, const Datasets& datasets,
                    comm::ProcessGroup& group) {
  if (group.size() == 1) return;
  const auto inputs = inputs_of(arguments, datasets);
  CpuDevice host;
  const auto count = static_cast<std::int64_t>(2 * inputs.size());
  const Tensor mine = empty({count}, DType::int64, host);
  const Tensor all = empty({count * group.size()}, DType::int64, host);
  const auto put = mine.data<std::int64_t>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    put[2 * i] = inputs[i].mine.size;
    put[2 * i + 1] = std::bit_cast<std::int64_t>(inputs[i].mine.checksum);
  }
  group.all_gather(mine, all);
  const auto got = all.data<std::int64_t>();
  const auto read_by = [&](int rank, std::size_t i) {
    const std::size_t at = static_cast<std::size_t>(rank * count) + 2 * i;
    return Read{got[at], std::bit_cast<std::uint64_t>(got[at + 1])};
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (int rank = 1; rank < group.size(); ++rank) {
      const Read first = read_by(0, i), other = read_by(rank, i);
      if (other == first) continue;
      const Input seen{inputs[i].name, inputs[i].unit, first};
      throw UsageError(text(inputs[i].name, " is not the same file on all ranks: rank 0 reads ",
                            told_of(seen, first), ", rank ", rank, " reads ", told_of(seen, other),
                            "; give each of them the same, best in a folder that they share"));
    }
  }
}

}  // namespace lockstep::apps
