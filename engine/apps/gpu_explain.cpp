// gpu-explain: what a kernel of the GPU's library does, counted on paper while a small piece of
// every operation runs, beside what ptxas said of its registers: ./lab gpu explain. With --on-gpu
// the same work runs on a GPU, for a profiler to look at.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/apps/gpu_workload.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/options.hpp"
#include "engine/gpu/explain/profile.hpp"
#include "engine/gpu/explain/report.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/sim/model/cluster.hpp"

namespace {

using namespace lockstep;
using gpu::Explanation;

std::vector<gpu::Roof> roofs() {
  std::vector<gpu::Roof> all;
  for (const auto& [cluster, processor] : {std::pair{"a100", "sm_80"}, {"h100", "sm_90"}}) {
    const sim::DeviceModel device = sim::cluster_of(cluster).device;
    // Kernels that multiply no matrices reach the rate of float32, whatever their elements are.
    all.push_back({device.name, processor, device.memory_bandwidth_bytes_s,
                   device.peak_flops_s[static_cast<std::size_t>(DType::float32)]});
  }
  return all;
}

std::vector<Explanation> all_explained() {
  const auto built = gpu::read_ptxas_reports(LOCKSTEP_CUDA_OBJECTS);
  const auto all_roofs = roofs();
  std::vector<Explanation> all;
  for (const gpu::CountedKernel& kernel : gpu::read_paper_counts(gpu::paper_lines())) {
    all.push_back(gpu::explain(kernel, built, all_roofs, LOCKSTEP_SOURCE_FOLDER));
  }
  return all;
}

// Those of that name, "softmax_rows" or one variant of it; the costliest first.
std::vector<Explanation> chosen(std::vector<Explanation> all, const std::string& asked) {
  std::set<std::string> names;
  std::vector<Explanation> found;
  for (Explanation& of : all) {
    const std::string family = gpu::family_of(of.counted.name);
    names.insert(asked.find('<') == std::string::npos ? family : of.counted.name);
    if (family == asked || of.counted.name == asked) found.push_back(std::move(of));
  }
  if (found.empty()) {
    const std::vector<std::string> candidates(names.begin(), names.end());
    throw UsageError(text("no kernel that ran is called '", asked, "'",
                          did_you_mean(asked, candidates), " (./lab gpu explain lists all)"));
  }
  std::ranges::stable_sort(found, std::greater{}, &Explanation::cost);
  return found;
}

nlohmann::ordered_json figures_of(const gpu::Figures& is) {
  return {{"warp_instructions", is.instructions},
          {"lanes_active", is.lanes_active()},
          {"flops", is.flops},
          {"device_requests", is.device_requests},
          {"sectors", is.sectors},
          {"sectors_needed", is.sectors_needed},
          {"shared_requests", is.shared_requests},
          {"bank_passes", is.bank_passes},
          {"passes_needed", is.passes_needed},
          {"atomics", is.atomics},
          {"divergent_branches", is.divergent_branches}};
}

nlohmann::ordered_json json_of(const Explanation& of) {
  nlohmann::ordered_json json{{"kernel", of.counted.name},
                              {"launches", of.counted.launches},
                              {"blocks", of.counted.blocks},
                              {"threads", of.counted.threads},
                              {"figures", figures_of(of.whole)},
                              {"flops_a_byte", of.flops_a_byte},
                              {"wasted", of.cost == 0 ? 0 : of.wasted / of.cost}};
  for (const gpu::OnProcessor& on : of.processors) {
    json["processors"].push_back({{"processor", on.built.processor},
                                  {"registers", on.built.registers},
                                  {"spilled_bytes", on.built.spilled_bytes},
                                  {"shared_bytes", on.built.shared_bytes},
                                  {"resident_warps", on.resident.warps},
                                  {"limited_by", on.resident.limited_by}});
  }
  for (const gpu::OnRoof& on : of.roofs) {
    json["rooflines"].push_back({{"gpu", on.roof.gpu},
                                 {"ridge_flops_a_byte", on.roof.ridge()},
                                 {"bound_by", on.by_memory ? "memory" : "arithmetic"},
                                 {"launch_at_least_s", on.least_s}});
  }
  json["losses"] = nlohmann::ordered_json::array();
  for (const gpu::Loss& loss : of.losses) {
    json["losses"].push_back({{"cause", gpu::name(loss.cause)},
                              {"file", loss.file},
                              {"line", loss.line},
                              {"share", loss.share},
                              {"sentence", loss.sentence}});
  }
  for (const gpu::ExplainedLine& line : of.lines) {
    json["lines"].push_back({{"file", line.file},
                             {"line", line.counted.line},
                             {"source", line.source},
                             {"cost", line.cost / of.cost},
                             {"figures", figures_of(line.counted.figures)}});
  }
  return json;
}

nlohmann::ordered_json modelled(const std::vector<Explanation>& all) {
  nlohmann::ordered_json json{{"modelled", true},
                              {"how", "counted on paper, not measured on a GPU"},
                              {"kernels", nlohmann::ordered_json::array()}};
  for (const Explanation& of : all) json["kernels"].push_back(json_of(of));
  return json;
}

void print(const std::vector<Explanation>& found, std::size_t lines) {
  std::cout << gpu::report(found.front(), lines);
  if (found.size() == 1) return;
  std::cout << "\n  Other variants that ran:\n";
  for (std::size_t i = 1; i < found.size(); ++i) {
    std::cout << "    ./lab gpu explain '" << found[i].counted.name << "'\n";
  }
}

DType dtype_named(const std::string& name) {
  return *std::ranges::find(all_dtypes, name, [](DType dtype) { return name_of(dtype); });
}

std::string whole_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw UsageError(text("there is no file ", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Device> opened(const Arguments& arguments) {
  gpu::GpuOptions options;
  if (arguments.flag("on-gpu")) {
    options.blocks = gpu::Blocks::returned;  // so that NVIDIA's memcheck sees where tensors end
  } else {
    options.hardware = gpu::Hardware::paper;
    options.paper = {"counters=1"};
  }
  try {
    return gpu::open_gpu(options);
  } catch (const gpu::GpuError& error) {
    throw apps::Lacking(error.what());
  }
}

int run(int argc, const char* const* argv) {
  Options options("lab gpu explain",
                  "Says what a kernel of the GPU's library does: sectors, bank conflicts, idle "
                  "lanes,\nregisters and occupancy, with the lines of source that cause them. All "
                  "is modelled.");
  options.words("KERNEL", "the kernel, or one variant of it; without one, lists all")
      .choice("dtype", {"float32", "float64", "bfloat16", "float16"}, "float32",
              "elements of the work that is counted")
      .flag("all", "all lines of the source, not only the costliest")
      .flag("json", "one JSON document, with all that is known")
      .option("beside", "", "a table of ncu's, compared with what paper counts of the same work")
      .flag("on-gpu", "runs the work on a GPU instead, for a profiler; prints nothing")
      .exclude({"json", "on-gpu", "beside"}, "do not go together; pass only one");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  if (arguments.words().size() > 1) throw UsageError("name one kernel, in quotes if it has spaces");
  const std::unique_ptr<Device> device = opened(arguments);
  apps::run_gpu_workload(*device, dtype_named(arguments.get("dtype")));
  if (arguments.flag("on-gpu")) return 0;
  if (arguments.given("beside")) {
    std::cout << gpu::profile_table(gpu::read_paper_counts(gpu::paper_lines()),
                                    gpu::read_profile(whole_file(arguments.get("beside"))));
  }
  std::vector<Explanation> all = all_explained();
  // Else paper would print a table of its own when the process ends.
  gpu::open_gpu({.hardware = gpu::Hardware::paper, .paper = {"counters=0"}});
  if (arguments.given("beside")) return 0;
  const bool json = arguments.flag("json");
  if (!arguments.words().empty()) {
    const auto found = chosen(std::move(all), arguments.words().front());
    if (json) {
      std::cout << modelled(found).dump(2) << "\n";
    } else {
      print(found, arguments.flag("all") ? found.front().lines.size() : gpu::lines_shown);
    }
  } else if (json) {
    std::cout << modelled(all).dump(2) << "\n";
  } else {
    std::cout << gpu::list_of(all);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab gpu explain", [&] { return run(argc, argv); });
}
