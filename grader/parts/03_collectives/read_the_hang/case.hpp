// The case format of read_the_hang, shared by adapter and exam: reports in, diagnoses out.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/comm/hang_report.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

inline void put(ByteWriter& out, const comm::HangReport& report) {
  out.put(static_cast<std::uint32_t>(report.groups.size()));
  for (const auto& members : report.groups) out.put_list(std::span<const int>(members));
  out.put(static_cast<std::uint32_t>(report.ranks.size()));
  for (const auto& [doing, last, called] : report.ranks) {
    out.put(doing).put(last.kind).put(last.group).put(last.number).put(last.peer).put(last.count);
    out.put_list(std::span<const std::int64_t>(called));
  }
}

inline comm::HangReport read_hang_report(ByteReader& in) {
  comm::HangReport report;
  report.groups.resize(in.get<std::uint32_t>());
  for (auto& members : report.groups) members = in.get_list<int>();
  report.ranks.resize(in.get<std::uint32_t>());
  for (auto& [doing, last, called] : report.ranks) {
    doing = in.get<comm::Activity>();
    last.kind = in.get<comm::CallKind>();
    last.group = in.get<int>();
    last.number = in.get<std::int64_t>();
    last.peer = in.get<int>();
    last.count = in.get<std::int64_t>();
    called = in.get_list<std::int64_t>();
  }
  return report;
}

}  // namespace lockstep::grader
