#include "engine/trace/data.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "engine/trace/summary.hpp"

namespace lockstep::trace {
namespace {

using nlohmann::json;

// "[first,…]", one row a line: a text that git and a person can compare.
template <typename Rows, typename Write>
void write_rows(std::ostream& out, const char* key, const Rows& rows, Write write) {
  out << ",\n\"" << key << "\":[";
  bool first = true;
  for (const auto& row : rows) {
    out << (first ? "\n" : ",\n");
    write(row);
    first = false;
  }
  out << "]";
}

std::string list_of(const std::vector<int>& values) {
  std::string result = "[";
  for (const int value : values) result += (result.size() > 1 ? "," : "") + std::to_string(value);
  return result + "]";
}

void write_finding(std::ostream& out, const std::optional<Finding>& finding) {
  if (!finding) {
    out << ",\n\"finding\":null";
    return;
  }
  out << ",\n\"finding\":{\"verdict\":" << json_text(finding->verdict)
      << ",\"message\":" << json_text(finding->message)
      << ",\"where\":" << json_text(finding->where) << ",\"ranks\":" << list_of(finding->ranks);
  write_rows(out, "waiting", finding->waiting, [&](const Waiting& w) {
    out << "{\"rank\":" << w.rank << ",\"strand\":" << w.strand << ",\"who\":" << json_text(w.who)
        << ",\"operation\":" << json_text(w.operation) << ",\"details\":" << json_text(w.details)
        << ",\"where\":" << json_text(w.where) << ",\"waits_for\":" << list_of(w.waits_for)
        << ",\"since_s\":" << number(w.since_s) << "}";
  });
  out << "}";
}

void write_summary(std::ostream& out, const std::vector<RankSummary>& ranks) {
  write_rows(out, "summary", ranks, [&](const RankSummary& r) {
    out << "{\"rank\":" << r.rank << ",\"compute_s\":" << number(r.compute_s)
        << ",\"communication_s\":" << number(r.communication_s)
        << ",\"exposed_s\":" << number(r.exposed_s) << ",\"waiting_s\":" << number(r.waiting_s)
        << ",\"messages_sent\":" << r.messages_sent
        << ",\"messages_received\":" << r.messages_received << ",\"bytes_sent\":" << r.bytes_sent
        << ",\"bytes_received\":" << r.bytes_received
        << ",\"collective_bytes\":" << r.collective_bytes << "}";
  });
}

Finding finding_of(const json& in) {
  Finding finding{in.at("verdict"), in.at("message"), in.at("where"), in.at("ranks"), {}};
  for (const json& w : in.at("waiting")) {
    finding.waiting.push_back({w.at("rank"), w.at("strand"), w.at("who"), w.at("operation"),
                               w.at("details"), w.at("where"), w.at("waits_for"), w.at("since_s")});
  }
  return finding;
}

// Nothing outside what the document itself declares: a place in names, a rank.
void check(const Timeline& timeline) {
  const auto named = [&](Name name) { return name < timeline.names.size(); };
  const auto ranked = [&](int rank) { return rank >= 0 && rank < timeline.ranks; };
  bool sound = true;
  for (const Span& s : timeline.spans) {
    sound = sound && named(s.name) && named(s.where) && ranked(s.rank) && s.lane <= Lane::waiting;
  }
  for (const Message& m : timeline.messages) {
    sound = sound && named(m.label) && named(m.where) && ranked(m.src) && ranked(m.dst);
  }
  for (const Series& s : timeline.series) sound = sound && ranked(s.rank);
  if (!sound) throw Error("a row names a rank or a name that is not there");
}

Timeline timeline_of(const json& in) {
  Timeline timeline;
  timeline.title = in.at("title");
  timeline.clock = in.at("clock") == "wall" ? Clock::wall : Clock::virtual_time;
  timeline.ranks = in.at("ranks");
  timeline.left_out = in.at("left_out");
  for (const json& fact : in.at("facts")) timeline.facts.emplace_back(fact.at(0), fact.at(1));
  timeline.names = in.at("names").get<std::vector<std::string>>();
  for (const json& s : in.at("spans")) {
    timeline.spans.push_back({s.at(0), s.at(1), static_cast<Lane>(s.at(2).get<int>()), s.at(3),
                              s.at(4), s.at(5), s.at(6), s.at(7), s.at(8)});
  }
  for (const json& m : in.at("messages")) {
    timeline.messages.push_back({m.at(0), m.at(1), m.at(2), m.at(3), m.at(4), m.at(5), m.at(6),
                                 m.at(7), m.at(8), m.at(9), m.at(10)});
  }
  for (const json& s : in.at("series")) {
    timeline.series.push_back({s.at("name"), s.at("unit"), s.at("rank"), {}});
    for (const json& sample : s.at("samples")) {
      timeline.series.back().samples.push_back({sample.at(0), sample.at(1)});
    }
  }
  if (!in.at("finding").is_null()) timeline.finding = finding_of(in.at("finding"));
  check(timeline);
  return timeline;
}

}  // namespace

std::string json_text(std::string_view text) {
  const std::string ascii = write_ascii_json(std::string(text));
  std::string result;
  for (const char c : ascii) {
    switch (c) {
      case '<':
        result += "\\u003c";
        break;
      case '>':
        result += "\\u003e";
        break;
      case '&':
        result += "\\u0026";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

void write_data(std::ostream& out, const Timeline& timeline) {
  const auto summary = summary_of(timeline);
  out << "{\"version\":1,\"title\":" << json_text(timeline.title)
      << ",\"clock\":" << (timeline.clock == Clock::wall ? "\"wall\"" : "\"virtual\"")
      << ",\"ranks\":" << timeline.ranks << ",\"end_s\":" << number(timeline.end_s())
      << ",\"overlap\":" << number(overlap_of(summary)) << ",\"left_out\":" << timeline.left_out;
  write_rows(out, "facts", timeline.facts, [&](const auto& fact) {
    out << "[" << json_text(fact.first) << "," << json_text(fact.second) << "]";
  });
  write_rows(out, "names", timeline.names, [&](const auto& name) { out << json_text(name); });
  write_rows(out, "spans", timeline.spans, [&](const Span& s) {
    out << "[" << s.rank << "," << s.strand << "," << static_cast<int>(s.lane) << "," << s.name
        << "," << s.where << "," << number(s.start_s) << "," << number(s.end_s) << "," << s.bytes
        << "," << s.depth << "]";
  });
  write_rows(out, "messages", timeline.messages, [&](const Message& m) {
    out << "[" << m.src << "," << m.dst << "," << m.tag << "," << m.group << "," << m.bytes << ","
        << m.depth << "," << m.label << "," << m.where << "," << number(m.start_s) << ","
        << number(m.sent_s) << "," << number(m.arrived_s) << "]";
  });
  write_rows(out, "series", timeline.series, [&](const Series& s) {
    out << "{\"name\":" << json_text(s.name) << ",\"unit\":" << json_text(s.unit)
        << ",\"rank\":" << s.rank << ",\"samples\":[";
    for (std::size_t i = 0; i < s.samples.size(); ++i) {
      out << (i ? "," : "") << "[" << number(s.samples[i].time_s) << ","
          << number(s.samples[i].value) << "]";
    }
    out << "]}";
  });
  write_summary(out, summary);
  write_finding(out, timeline.finding);
  out << "}\n";
}

Timeline read_data(std::string_view text) {
  try {
    return timeline_of(read_json(text));
  } catch (const std::exception& error) {
    throw Error(std::string("this is no timeline as the lab writes it: ") + error.what());
  }
}

}  // namespace lockstep::trace
