// Keeps what is registered, and decodes it when it is asked for.
#include "engine/paper/cudart/registry.hpp"

#include "engine/paper/cudart/ptx_edit.hpp"
#include "engine/paper/cudart/runtime.hpp"
#include "engine/paper/findings.hpp"

namespace lockstep::paper {
ptx::Decoder& Binary::decoder() {
  if (decoder_) return *decoder_;
  FatBinary found = read_fat_binary(wrapper_);
  if (const std::string& edit = runtime()->settings().ptx_edit; !edit.empty()) {
    EditedPtx edited = edited_ptx(found.ptx, edit);
    runtime()->ptx_edits += edited.changes;
    edited_ = std::move(edited.text);
    found = {edited_, std::move(edited.refusal)};
  }
  decoder_.emplace(found.ptx);
  refusal_ = found.refusal.empty() ? module().error : found.refusal;
  return *decoder_;
}

const std::string& Binary::refusal() {
  decoder();
  return refusal_;
}

Binary* Registry::add_binary(const void* wrapper) {
  return binaries_.emplace_back(std::make_unique<Binary>(wrapper)).get();
}

void Registry::add_kernel(Binary* binary, const void* host, const char* name) {
  auto& place = kernels_[host];  // a template's kernel may come from two sources; the first is kept
  if (place == nullptr) {
    place = std::make_unique<CUkern_st>(CUkern_st{binary, name, kernel_name(name)});
    by_handle_[place.get()] = place.get();
  }
}

void Registry::add_variable(Binary* binary, const void* host, const char* name, std::size_t bytes) {
  variables_.try_emplace(host, RegisteredVariable{binary, name, bytes});
}

CUkern_st* Registry::kernel(const void* host_or_handle) const {
  const auto by_function = kernels_.find(host_or_handle);
  if (by_function != kernels_.end()) return by_function->second.get();
  const auto by_handle = by_handle_.find(host_or_handle);
  return by_handle == by_handle_.end() ? nullptr : by_handle->second;
}

const RegisteredVariable* Registry::variable(const void* host) const {
  const auto found = variables_.find(host);
  return found == variables_.end() ? nullptr : &found->second;
}

Registry& registry() {
  static Registry& only = *new Registry();  // never destroyed, see the header
  return only;
}

}  // namespace lockstep::paper

const lockstep::paper::ptx::Kernel* CUkern_st::kernel() const { return binary->kernel(name); }
