// SPDX-License-Identifier: BSD-3-Clause
// A number that the field of a dtype cannot hold is no constant.
// says: lanes_of_unsound_dtype
#include <dlbridge/dtype.hpp>

#ifdef WRONG
constexpr dlbridge::dtype wide(kDLFloat, 320);
#else
constexpr dlbridge::dtype wide(kDLFloat, 32);
#endif
static_assert(wide.lanes == 1);
