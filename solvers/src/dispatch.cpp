#include <cstdlib>
#include <stdexcept>
#include <string>

#include "odt/kernels.hpp"

namespace odt {
namespace {

Isa from_environment() {
  const char* name = std::getenv("ODTDSL_ISA");
  const std::string isa = name ? name : "";
  if (isa == "portable") return Isa::portable;
  if (isa == "avx2") return Isa::avx2;
  if (isa == "avx512") return Isa::avx512;
  return Isa::best;
}

const Kernels& demand(const Kernels* kernels, const char* name) {
  if (kernels == nullptr)
    throw std::invalid_argument(std::string("this machine or build lacks ") + name);
  return *kernels;
}

}  // namespace

bool may_use(Isa isa) {
  const Isa most = from_environment();
  return most == Isa::best || isa <= most;
}

const Kernels& choose_kernels(Isa isa) {
  if (isa == Isa::best) isa = from_environment();
  switch (isa) {
    case Isa::portable:
      return kernels_portable();
    case Isa::avx2:
      return demand(kernels_avx2(), "AVX2");
    case Isa::avx512:
      return demand(kernels_avx512(), "AVX-512 (F, BW, VL, DQ, VBMI2, BITALG, VPOPCNTDQ)");
    case Isa::best:
      break;
  }
  if (const Kernels* best = kernels_avx512()) return *best;
  if (const Kernels* good = kernels_avx2()) return *good;
  return kernels_portable();
}

}  // namespace odt
