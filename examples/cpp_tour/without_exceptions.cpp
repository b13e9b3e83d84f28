// SPDX-License-Identifier: BSD-3-Clause
// dlbridge with -fno-exceptions -fno-rtti: functions named try_* and check_* do not throw.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// [on_error]
#include <cstdio>
#include <cstdlib>

// Replaces the throw; must not return. The default prints the message, too. std::abort flushes no
// file: stderr needs none, and stdout would lose the text in a pipe.
#define DLBRIDGE_ON_ERROR(why) \
  (std::fprintf(stderr, "%s\n", dlbridge::message(why).c_str()), std::abort())
#include <dlbridge/dlbridge.hpp>
// [/on_error]

namespace {

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

// [adopt]
struct short_row {  // up to four numbers
  float values[4];
  std::int64_t size;
};

}  // namespace

template <>
struct dlbridge::array_traits<short_row> {
  using span = tensor_span<float const, shape<dynamic_extent>>;
  // Whatever adopt would refuse: dtype, rank, device, and what a requirement cannot state.
  static report check(tensor_view const& v) noexcept {
    report why = check_view(v, span::required());
    if (why.ok() && v.extent(0) > 4) {
      why = refusal(errc::extent_mismatch, "at most 4 numbers", name_of(v).c_str(), "Split it");
    }
    return why;
  }
  static short_row adopt(managed_tensor&& m) noexcept {
    span const source = span::trust(m.view());  // checked
    short_row result{{}, source.count()};
    for (std::int64_t i = 0; i < source.count(); ++i) {
      result.values[i] = source[i];
    }
    m.reset();
    return result;
  }
};

namespace {

bool try_size(dlbridge::managed_tensor m, std::int64_t& size) {
  dlbridge::report why;
  std::optional<short_row> const r = dlbridge::try_adopt_as<short_row>(std::move(m), why);
  if (!r) {
    std::puts(dlbridge::message(why).c_str());
    return false;
  }
  size = r->size;
  return true;
}
// [/adopt]

template <class T>
struct numbers {  // of any rank, on the memory of the tensor
  dlbridge::managed_tensor owner;
  T* first;
};

}  // namespace

// [check]
template <class T>
struct dlbridge::array_traits<numbers<T>> {
  static report check(tensor_view const& v) noexcept {
    return check_view(v, tensor_span<T>::required());
  }
  static numbers<T> adopt(managed_tensor&& m) noexcept {
    T* const first = tensor_span<T>(m).data();  // check has accepted it
    return {std::move(m), first};
  }
};
// [/check]

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
  std::int64_t size = 0;
  bool const adopted = try_size(dlbridge::build(std::vector<float>(4)), size) && size == 4 &&
                       !try_size(dlbridge::build(std::vector<float>(7)), size) &&
                       !try_size(dlbridge::build(std::vector<double>(4)), size) &&
                       !try_size(dlbridge::managed_tensor(), size);
  dlbridge::report why;
  bool const checked =
      dlbridge::try_adopt_as<numbers<float>>(dlbridge::build(std::vector<float>(4)), why) &&
      !dlbridge::try_adopt_as<numbers<float>>(dlbridge::build(std::vector<double>(4)), why) &&
      why.has(dlbridge::errc::dtype_mismatch);
  return right && adopted && checked ? 0 : 1;
}
