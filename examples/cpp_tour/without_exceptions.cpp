// SPDX-License-Identifier: BSD-3-Clause
// dlbridge with -fno-exceptions -fno-rtti: functions named try_* and check_* do not throw.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

// [on_error]
// Replaces the throw; must not return. The default prints the message, too. std::abort flushes no
// file: stderr needs none, and stdout would lose the text in a pipe.
#define DLBRIDGE_ON_ERROR(why) \
  (std::fprintf(stderr, "%s\n", dlbridge::message(why).c_str()), std::abort())
#include <dlbridge/dlbridge.hpp>
// [/on_error]

// [take]
using vector3 = dlbridge::tensor_span<float const, dlbridge::shape<3>>;

bool try_sum(DLManagedTensorVersioned* raw, float& out) {
  dlbridge::report why;  // a new one, because success leaves it unchanged
  auto const owned = dlbridge::managed_tensor::try_steal(raw, why);
  if (owned) {
    why = dlbridge::check_view(owned, vector3::required());
  } else if (why.ok()) {  // raw is null
    why = dlbridge::refusal(dlbridge::errc::null_data, "a tensor", "null");
  }
  if (!why.ok()) {
    std::puts(dlbridge::message(why).c_str());
    return false;
  }
  vector3 const v{owned.view()};  // checked above, so it does not fail
  out = v(0) + v(1) + v(2);
  return true;
}
// [/take]

int main(int count, char**) {
  if (count > 1) {  // with an argument the program ends by DLBRIDGE_ON_ERROR
    dlbridge::managed_tensor const empty;
    static_cast<void>(dlbridge::copy_of(empty));
  }
  float total = 0;
  auto good = dlbridge::build(std::vector<float>{1, 2, 3});
  auto bad = dlbridge::build(std::vector<float>{1, 2});
  bool const right = try_sum(good.release_versioned(), total) && total == 6 &&
                     !try_sum(bad.release_versioned(), total) && !try_sum(nullptr, total);
  return right ? 0 : 1;
}
