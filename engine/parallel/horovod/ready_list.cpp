// Lists as bytes, and sentences; see ready_list.hpp.
#include "engine/parallel/horovod/ready_list.hpp"

namespace lockstep::horovod {
namespace {

std::string tensor_text(const Request& request) {
  return text(name_of(request.dtype), " ", text_of(request.shape));
}

// "rank 1", "ranks 0, 2"
std::string ranks_text(std::span<const int> ranks) {
  std::string all = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) all += text(i == 0 ? "" : ", ", ranks[i]);
  return all;
}

}  // namespace

Bytes bytes_of(const ReadyList& list) {
  ByteWriter out;
  out.put(list.outlook).put(static_cast<std::uint32_t>(list.requests.size()));
  for (const Request& request : list.requests) {
    out.put_text(request.name).put(request.dtype).put(request.waited_s);
    const std::vector<std::int64_t> sizes(request.shape.begin(), request.shape.end());
    out.put_list(std::span(sizes));
  }
  return out.take();
}

ReadyList ready_list_from(const Bytes& bytes) {
  ByteReader in(bytes);
  ReadyList list{in.get<Outlook>(), {}};
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    Request request{.name = in.get_text(), .dtype = in.get<DType>(), .waited_s = in.get<double>()};
    for (const std::int64_t size : in.get_list<std::int64_t>()) request.shape.push_back(size);
    list.requests.push_back(std::move(request));
  }
  return list;
}

Bytes bytes_of(const std::vector<Response>& responses) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(responses.size()));
  for (const Response& response : responses) {
    out.put_text(response.name).put(response.verdict);
    if (response.verdict != Verdict::reduce) out.put_text(response.why);
  }
  return out.take();
}

std::vector<Response> responses_from(const Bytes& bytes) {
  ByteReader in(bytes);
  std::vector<Response> responses(in.get<std::uint32_t>());
  for (Response& response : responses) {
    response.name = in.get_text();
    response.verdict = in.get<Verdict>();
    if (response.verdict != Verdict::reduce) response.why = in.get_text();
  }
  return responses;
}

std::string why_refused(int rank, const Request& request, int other, const Request& of_other) {
  return text("the gradient ", request.name, " is ", tensor_text(request), " on rank ", rank,
              " and ", tensor_text(of_other), " on rank ", other,
              "; every rank must build the same model, so compare what its sizes and types are "
              "made of on these two ranks");
}

std::string why_stalled(const std::string& name, std::span<const int> have,
                        std::span<const int> lack, double waited_s) {
  return text("the gradient ", name, " is ready on ", ranks_text(have), " and not on ",
              ranks_text(lack), ", after ", waited_s,
              " s: these ranks train different parameters, or one of them is stuck; compare the "
              "lists of parameters of their optimizers");
}

}  // namespace lockstep::horovod
