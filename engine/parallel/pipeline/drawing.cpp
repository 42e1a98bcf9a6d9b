// Rows of letters, and rows of rectangles.
#include "engine/parallel/pipeline/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep::pipeline {
namespace {

// "F3": rows tell the chunk.
std::string label_of(const Action& action) { return text_of(action, 1); }

// The length of the shortest pass that takes time at all.
double shortest_s(const PlanTimeline& timeline) {
  double shortest = timeline.makespan_s > 0 ? timeline.makespan_s : 1;
  for (const StageTimeline& stage : timeline.stages) {
    for (const Span& span : stage.spans) {
      const double length = span.end_s - span.start_s;
      if (length > 0) shortest = std::min(shortest, length);
    }
  }
  return shortest;
}

class TextDrawing {
 public:
  explicit TextDrawing(const PlanTimeline& timeline)
      : timeline_(timeline),
        cell_s_(shortest_s(timeline)),
        cell_(1 + std::to_string(timeline.micro_batches - 1).size()) {}

  std::string drawn(const std::optional<Mark>& mark) const {
    std::string out;
    for (int stage = 0; std::cmp_less(stage, timeline_.stages.size()); ++stage) {
      const int marked = mark && mark->stage == stage ? chunk_of(*mark) : -1;
      for (int chunk = 0; chunk < timeline_.chunks; ++chunk) {
        const std::string name =
            timeline_.chunks > 1 ? text("stage ", stage, ".", chunk) : text("stage ", stage);
        out += fitted(name + "  " + row(stage, chunk));
        if (chunk == marked) out += fitted(std::string(name.size() + 2, ' ') + pointer(*mark));
      }
    }
    return out;
  }

 private:
  const StageTimeline& at(int stage) const {
    return timeline_.stages[static_cast<std::size_t>(stage)];
  }
  std::size_t column(double time) const {
    return static_cast<std::size_t>(std::llround(time / cell_s_ * static_cast<double>(cell_)));
  }
  // The row of the mark; of an action that never ran, the last one.
  int chunk_of(const Mark& mark) const {
    const auto& spans = at(mark.stage).spans;
    return mark.place < spans.size() ? spans[mark.place].action.chunk : timeline_.chunks - 1;
  }

  std::string row(int stage, int chunk) const {
    std::string out(column(timeline_.makespan_s), ' ');
    for (std::size_t i = cell_ - 1; i < out.size(); i += cell_) out[i] = '.';
    for (const Span& span : at(stage).spans) {
      const std::size_t from = column(span.start_s), to = column(span.end_s);
      // While the stage works on another chunk, it is not idle.
      std::string said = span.action.chunk == chunk ? label_of(span.action) : "";
      said.resize(to - from, said.empty() ? ' ' : '-');
      out.replace(from, to - from, said);
    }
    return out;
  }

  std::string pointer(const Mark& mark) const {
    const auto& spans = at(mark.stage).spans;
    std::size_t from = 0, to = 0;
    if (mark.place < spans.size()) {
      from = column(spans[mark.place].start_s);
      to = column(spans[mark.place].end_s);
    } else if (!spans.empty()) {
      from = column(spans.back().end_s);
    }
    return std::string(from, ' ') + std::string(to > from ? to - from : 1, '^') + " " + mark.words;
  }

  static std::string fitted(std::string line) {
    constexpr std::size_t widest = 100;
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.size() > widest) line = line.substr(0, widest - 1) + "…";
    return line + "\n";
  }

  const PlanTimeline& timeline_;
  double cell_s_;
  std::size_t cell_;  // characters
};

// Numbers with at most two decimals, as in every other picture.
std::string decimal(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.2f", value);
  return out.data();
}
std::string shortest_decimal(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.3g", value);
  return out.data();
}

struct Paint {
  const char *fill, *ink, *name;
};
Paint paint_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {"#8ec5ff", "#1f2328", "forward"};
    case Pass::backward:
      return {"#0969da", "#ffffff", "backward"};
    case Pass::input_gradient:
      return {"#0969da", "#ffffff", "input gradient"};
    case Pass::weight_gradient:
      return {"#8250df", "#ffffff", "weight gradient"};
  }
  return {"#ffffff", "#1f2328", ""};
}

class SvgDrawing {
 public:
  explicit SvgDrawing(const PlanTimeline& timeline) : timeline_(timeline) {}

  std::string drawn() {
    const int below = 56, height = top + row * static_cast<int>(timeline_.stages.size()) + below;
    out_ = text(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 )", height,
                R"(" font-family="sans-serif" font-size="13" fill="#1f2328">)", "\n",
                R"(<rect width="740" height=")", height, R"(" fill="#ffffff"/>)", "\n");
    for (std::size_t s = 0; s < timeline_.stages.size(); ++s) {
      const int y = top + static_cast<int>(s) * row;
      words(left - 8, y + 16, "end", text("stage ", s));
      for (const Span& span : timeline_.stages[s].spans) bar(span, y);
    }
    scale(height - below);
    legend(height - 24);
    return out_ + "</svg>\n";
  }

 private:
  static constexpr int top = 8, row = 26, left = 70, right = 728;

  double x(double time) const {
    const double all = timeline_.makespan_s > 0 ? timeline_.makespan_s : 1;
    return left + (right - left) * time / all;
  }
  void words(double px, double py, const char* anchor, const std::string& said,
             const std::string& more = "") {
    out_ += text("<text x=\"", decimal(px), "\" y=\"", decimal(py), "\" text-anchor=\"", anchor,
                 "\"", more, ">", said, "</text>\n");
  }
  void box(double px, double py, double width, const Paint& paint, double opacity) {
    out_ += text("<rect x=\"", decimal(px), "\" y=\"", decimal(py), "\" width=\"", decimal(width),
                 "\" height=\"22\" fill=\"", paint.fill, "\" fill-opacity=\"", decimal(opacity),
                 "\" stroke=\"#ffffff\" stroke-width=\"0.8\"/>\n");
  }
  // A later chunk is paler.
  void bar(const Span& span, int y) {
    const Paint paint = paint_of(span.action.pass);
    const double chunk = static_cast<double>(span.action.chunk) / timeline_.chunks;
    const double width = x(span.end_s) - x(span.start_s);
    box(x(span.start_s), y, width, paint, 1 - 0.6 * chunk);
    const std::string number = std::to_string(span.action.micro_batch);
    if (width < 8 * static_cast<double>(number.size())) return;
    words((x(span.start_s) + x(span.end_s)) / 2, y + 15.5, "middle", number,
          text(" font-size=\"11\" fill=\"", chunk > 0 ? "#1f2328" : paint.ink, "\""));
  }

  // Some ten ticks, at 1, 2 or 5 times a power of ten.
  void scale(int y) {
    if (timeline_.makespan_s <= 0) return;
    const double power = std::pow(10, std::floor(std::log10(timeline_.makespan_s / 10)));
    double step = power;
    for (const double times : {2.0, 5.0, 10.0}) {
      if (timeline_.makespan_s / step > 12) step = times * power;
    }
    for (double time = 0; time <= timeline_.makespan_s * (1 + 1e-9); time += step) {
      out_ += text("<path d=\"M", decimal(x(time)), " ", top, "V", y,
                   "\" stroke=\"#1f2328\" stroke-opacity=\"0.12\"/>\n");
      words(x(time), y + 16, "middle", shortest_decimal(time), " font-size=\"11\"");
    }
  }

  void legend(int y) {
    double px = left;
    for (const Pass pass :
         {Pass::forward, Pass::backward, Pass::input_gradient, Pass::weight_gradient}) {
      if (!occurs(pass)) continue;
      const Paint paint = paint_of(pass);
      box(px, y, 22, paint, 1);
      words(px + 28, y + 15.5, "start", paint.name);
      px += 150;
    }
    if (timeline_.chunks > 1) words(px, y + 15.5, "start", "later chunks are paler");
  }
  bool occurs(Pass pass) const {
    return std::ranges::any_of(timeline_.stages, [&](const StageTimeline& stage) {
      return std::ranges::any_of(stage.spans,
                                 [&](const Span& span) { return span.action.pass == pass; });
    });
  }

  const PlanTimeline& timeline_;
  std::string out_;
};

}  // namespace

std::string text_drawing(const PlanTimeline& timeline, const std::optional<Mark>& mark) {
  return TextDrawing(timeline).drawn(mark);
}

std::string svg_drawing(const PlanTimeline& timeline) { return SvgDrawing(timeline).drawn(); }

}  // namespace lockstep::pipeline
