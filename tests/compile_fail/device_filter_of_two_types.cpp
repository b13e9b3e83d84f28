// SPDX-License-Identifier: BSD-3-Clause
// The second value of a device_filter is an ordinal, not another type.
// says: the second value of a device_filter is the ordinal of one device
#include <dlbridge/check.hpp>

dlbridge::requirement use() {
  dlbridge::requirement need;
#ifdef WRONG
  need.where = {kDLCPU, kDLCUDA};
#else
  need.where = {kDLCUDA, 1};
#endif
  return need;
}
