// A timeline as JSON: what the page draws, and what is kept of a run until somebody asks for it.
// Rows are arrays, because there may be hundreds of thousands:
//
//   { "version": 1, "title", "clock": "virtual" | "wall", "ranks", "end_s", "overlap", "left_out",
//     "facts":    [[what, value]],
//     "names":    [text],                    the others refer to these by their place
//     "spans":    [[rank, strand, lane, name, where, start, end, bytes, depth]],
//     "messages": [[src, dst, tag, group, bytes, depth, label, where, start, sent, arrived]],
//     "series":   [{"name", "unit", "rank", "samples": [[time, value]]}],
//     "summary":  [{"rank", "compute_s", …}],
//     "finding":  {"verdict", "message", "where", "ranks", "waiting": [{"rank", …}]} | null }
//
// Every text is ASCII with escapes and holds no '<', '>' or '&': the document can stand inside a
// script element of HTML, whatever a program named its files and strands.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "engine/trace/timeline.hpp"

namespace lockstep::trace {

void write_data(std::ostream& out, const Timeline& timeline);

//   Throws  Error when the text is not such a document
Timeline read_data(std::string_view text);

// "a \u003c b": a text in quotes, safe in JSON and in HTML; bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

// The shortest decimal that reads back as the same number; what is not finite becomes 0.
std::string number(double value);

}  // namespace lockstep::trace
