// What a GPT is made of, counted while one sample passes through it without numbers:
//   build/release/bin/anatomy LAYERS WIDTH HEADS TOKENS VOCABULARY
// Of each unit: its parameters, the operations of both passes, and the bytes that forward keeps for
// backward, in bfloat16. Under them, what the usual formulas say: 12·L·C² parameters in the blocks,
// 2·P operations per token forward and 4·P backward, and attention's part: over all T² scores, and
// over the half of them that a causal model needs.
// Sources: [KMH20] §2.1, [PALM22] appendix B
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/tensor/symbolic.hpp"

using namespace lockstep;

namespace {

struct Counts {
  double parameters = 0, forward = 0, backward = 0, kept = 0;
};

// Reads the device's counters around each pass of each unit.
class Counter final : public nn::UnitWatch {
 public:
  Counter(const Device& device, std::vector<Counts>& units) : device_(device), units_(units) {}

  void before_forward(std::size_t /*unit*/) override { begin(); }
  void after_forward(std::size_t unit) override {
    units_[unit].forward = device_.flops() - flops_;
    units_[unit].kept = kept() - kept_;
  }
  void before_backward(std::size_t /*unit*/) override { begin(); }
  void after_backward(std::size_t unit) override {
    units_[unit].backward = device_.flops() - flops_;
  }

 private:
  double kept() const { return static_cast<double>(device_.bytes_now(MemoryKind::activations)); }
  void begin() {
    flops_ = device_.flops();
    kept_ = kept();
  }

  const Device& device_;
  std::vector<Counts>& units_;
  double flops_ = 0, kept_ = 0;
};

std::vector<Counts> counted(const nn::GptOptions& options) {
  SymbolicDevice device;
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = options;
  spec.dtype = DType::bfloat16;
  const auto model = nn::make_units(spec, device, 0, {0, nn::unit_count(spec)});
  std::vector<Counts> units(model->units().size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].parameters = static_cast<double>(nn::count_of(*model->units()[i].module));
  }
  Counter counter(device, units);
  model->tell(&counter);
  const Tensor tokens = empty({1, options.sequence}, DType::int64, device);
  Tape tape(GradMode::record);
  const Value logits = model->forward(tape, tape.constant(tokens));
  tape.backward(autograd::cross_entropy(tape, logits, tokens));
  return units;
}

// A column, right-aligned; blanks for 0.
std::string column(double number, int decimals) {
  if (number == 0) return std::string(13, ' ');
  std::ostringstream text;
  text << std::setw(13) << std::fixed << std::setprecision(decimals) << number;
  return text.str();
}

void tell(const std::string& name, const Counts& counts) {
  const auto width = std::ranges::count_if(name, [](char byte) { return (byte & 0xC0) != 0x80; });
  std::string line = name + std::string(static_cast<std::size_t>(26 - width), ' ') +
                     column(counts.parameters / 1e6, 1) + column(counts.forward / 1e12, 3) +
                     column(counts.backward / 1e12, 3) + column(counts.kept / 1e6, 1);
  line.erase(line.find_last_not_of(' ') + 1);
  std::cout << line << "\n";
}

void tell_all(const nn::GptOptions& options) {
  const std::vector<Counts> units = counted(options);
  Counts all;
  for (const Counts& unit : units) {
    all.parameters += unit.parameters;
    all.forward += unit.forward;
    all.backward += unit.backward;
    all.kept += unit.kept;
  }
  std::cout << "                             parameters      forward     backward         kept\n"
               "one sequence                   millions        TFLOP        TFLOP           MB\n";
  tell("embedding", units.front());
  tell("a block", units[1]);
  tell("head", units.back());
  tell("all", all);
  const auto layers = static_cast<double>(options.layers);
  const auto width = static_cast<double>(options.width);
  const auto tokens = static_cast<double>(options.sequence);
  const double matrices = 2 * all.parameters * tokens;
  const double scores = 4 * layers * tokens * tokens * width;
  tell("12·L·C²", {12 * layers * width * width});
  tell("matrices, 2·P·T and 4·P·T", {0, matrices, 2 * matrices});
  tell("scores, 4·L·T²·C and twice", {0, scores, 2 * scores});
  tell("causal: half of them", {0, scores / 2, scores});
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 6) throw UsageError("usage: anatomy LAYERS WIDTH HEADS TOKENS VOCABULARY");
    nn::GptOptions options;
    options.layers = std::stoll(words[1]);
    options.width = std::stoll(words[2]);
    options.heads = std::stoll(words[3]);
    options.sequence = std::stoll(words[4]);
    options.vocabulary = std::stoll(words[5]);
    tell_all(options);
  } catch (const std::exception& error) {
    std::cerr << "anatomy: " << error.what() << "\n";
    return 2;
  }
}
