// A type that nobody has described is named together with the hook that would describe it.
// says: this type is not described to DLPack. Specialise dlbridge::array_traits<T>
#include <dlbridge/builder.hpp>

struct undescribed {};
struct described {};
template <>
struct dlbridge::array_traits<described> {
  static description describe(described&) noexcept { return description::of_nothing(); }
};

#ifdef WRONG
using array = undescribed;
#else
using array = described;
#endif

dlbridge::managed_tensor use() { return dlbridge::build(array()); }
