#include "engine/launch/cpu_isa.hpp"

#include "engine/base/error.hpp"

namespace lockstep::launch {

kernels::Isa cpu_isa(const Lookup& lookup, kernels::Isa widest) {
  using kernels::Isa;
  const auto typed = lookup("LOCKSTEP_CPU_ISA");
  if (!typed) return widest;
  std::string offered;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (isa > widest) continue;
    if (*typed == name_of(isa)) return isa;
    offered += text(offered.empty() ? "" : ", ", name_of(isa));
  }
  throw UsageError(text("LOCKSTEP_CPU_ISA is \"", *typed, "\", but this processor offers ", offered,
                        "; unset it to use ", name_of(widest)));
}

}  // namespace lockstep::launch
