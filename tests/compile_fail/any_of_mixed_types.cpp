// SPDX-License-Identifier: BSD-3-Clause
// Memory is read-only or writable for all element types of a list.
// says: the element types of any_of are all T const, or all T
#include <dlbridge/any_tensor.hpp>

#ifdef WRONG
using list = dlbridge::types<float const, double>;
#else
using list = dlbridge::types<float const, double const>;
#endif

auto use(dlbridge::tensor_view const& view) { return dlbridge::any_of<list>(view).dtype(); }
