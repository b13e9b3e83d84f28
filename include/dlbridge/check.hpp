// requirement: states what a consumer requires of a tensor; check_view reports every rule that a
// view breaks, and require_view throws them in one message.
// layer: tensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/validate.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// An extent that accepts every value, in shape<...> and in requirement::extents.
DLBRIDGE_LOCAL inline constexpr std::int64_t dynamic_extent = -1;

/// An extent with a name, a letter: shape<named<'n'>, 3>. It accepts every value, and extents of
/// the same name agree: those of one tensor, and those of all arguments of one call of a function
/// that def, def_fast or require_agreement checks.
template <char Name>
constexpr std::int64_t named = dynamic_extent - Name;

namespace detail {
constexpr bool is_letter(std::int64_t c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// The name of a required extent, or '\0' for a fixed or dynamic one.
constexpr char name_of_extent(std::int64_t extent) noexcept {
  return is_letter(dynamic_extent - extent) ? static_cast<char>(dynamic_extent - extent) : '\0';
}
}  // namespace detail

/// A requirement on the strides.
enum class layout : std::uint8_t {
  strided,       ///< Any strides.
  row_major,     ///< Compact, with the last dimension fastest.
  column_major,  ///< Compact, with the first dimension fastest.
  compact        ///< Compact, in any order of the dimensions.
};

/// A requirement on the device: any device, memory that the CPU can access, one device type, or one
/// device.
struct device_filter {
  static constexpr std::int32_t anywhere = -1;
  static constexpr std::int32_t host = 0;
  static constexpr std::int32_t any_id = -1;
  std::int32_t type = host;  ///< anywhere, host, or a value of DLDeviceType.
  std::int32_t id = any_id;  ///< any_id, or the required ordinal if type is a DLDeviceType.

  constexpr device_filter() noexcept = default;
  constexpr device_filter(std::int32_t required_type, std::int32_t required_id = any_id) noexcept
      : type(required_type), id(required_id) {}
  /// Does not compile: the second value is an ordinal.
  template <class Type, class = std::enable_if_t<std::is_enum_v<Type>>>
  constexpr device_filter(std::int32_t, Type) noexcept {
    static_assert(sizeof(Type) == 0,
                  "dlbridge: the second value of a device_filter is the ordinal of one device, not "
                  "another type. For several types write {device_filter::anywhere}, and test "
                  "view.device()");
  }

  /// Whether a tensor on the device meets the requirement.
  constexpr bool accepts(dlbridge::device where) const noexcept {
    if (type == host) {
      return is_host_accessible(where);
    }
    return type == anywhere || (type == where.type && (id == any_id || id == where.id));
  }
};

/// What a consumer requires of a tensor. The default accepts every tensor in memory that the CPU
/// can access.
///
/// @par Lifetime
/// The requirement points to the extents, which must outlive it.
struct requirement {
  static constexpr std::int32_t any_rank = -1;

  dtype type{};                           ///< The dtype; the default, with lanes 0, accepts any.
  std::int32_t rank = any_rank;           ///< The rank, or any_rank.
  std::int64_t const* extents = nullptr;  ///< rank extents (also dynamic_extent, named), or null.
  layout order = layout::strided;         ///< The layout.
  device_filter where{};                  ///< The device.
  bool writable = false;                  ///< Whether the memory must be writable.
  bool converts = false;                  ///< For messages: a copy is made of other real dtypes.
  std::size_t alignment = 1;              ///< Of the first element, in bytes; a power of two.

  /// Whether any dtype is accepted.
  constexpr bool any_type() const noexcept { return type.lanes == 0; }
};

namespace detail {
// Whether each tensor that meets `known`, which has extents for its rank, meets `need`.
constexpr bool implies(requirement const& known, requirement const& need) noexcept {
  bool result =
      known.type == need.type && known.alignment >= need.alignment &&
      (known.writable || !need.writable) &&
      (known.order == need.order || need.order == layout::strided ||
       (known.order != layout::strided && need.order == layout::compact)) &&
      (known.where.type == need.where.type || need.where.type == device_filter::anywhere) &&
      (known.rank == need.rank || need.rank == requirement::any_rank);
  for (int i = 0; result && i < need.rank; ++i) {
    result = need.extents[i] == dynamic_extent || need.extents[i] == known.extents[i];
  }
  return result;
}

// Compares all fields by one instruction. The operator == of dtype, which also works at compile
// time, takes six. The fields of `wanted`, as a rule constants, are named so that they stay
// constants.
DLBRIDGE_INLINE bool are_same(dtype type, dtype wanted) noexcept {
  dtype const fields(wanted.code, wanted.bits, wanted.lanes);
  return std::memcmp(&type, &fields, sizeof(type)) == 0;
}
static_assert(sizeof(dtype) == 4);

DLBRIDGE_INLINE bool has_layout(int rank, std::int64_t const* shape, std::int64_t const* strides,
                                layout order) noexcept {
  switch (order) {
    case layout::row_major:
      return is_row_major(rank, shape, strides);
    case layout::column_major:
      return is_column_major(rank, shape, strides);
    case layout::compact:
      return is_compact(rank, shape, strides);
    case layout::strided:
      break;
  }
  return true;
}
DLBRIDGE_INLINE bool has_layout(tensor_view const& view, layout order) noexcept {
  return order == layout::strided || has_layout(view.rank(), view.shape(), view.strides(), order);
}
// The same for a view of the required rank: most matrices are recognized by two comparisons.
DLBRIDGE_INLINE bool has_required_layout(tensor_view const& view,
                                         requirement const& need) noexcept {
  std::int64_t const* const strides = view.strides();
  return (need.rank == 2 && need.order == layout::row_major && strides != nullptr &&
          strides[1] == 1 && strides[0] == view.extent(1)) ||
         has_layout(view, need.order);
}

// Whether extent i, which has a name, equals the first extent of that name.
inline bool agrees_with_name(std::int64_t const* shape, requirement const& need, int i) noexcept {
  int first = 0;
  while (need.extents[first] != need.extents[i]) {
    ++first;
  }
  return shape[first] == shape[i];
}

// Whether the extents meet the requirement. The result for a wrong rank is true, because another
// rule, rank_mismatch, reports it.
inline bool has_extents(int rank, std::int64_t const* shape, requirement const& need) noexcept {
  if (need.extents == nullptr || rank != need.rank) {
    return true;
  }
  for (int i = 0; i < need.rank; ++i) {
    if (need.extents[i] != dynamic_extent && need.extents[i] != shape[i] &&
        (need.extents[i] >= 0 || !agrees_with_name(shape, need, i))) {
      return false;
    }
  }
  return true;
}
inline bool has_extents(tensor_view const& view, requirement const& need) noexcept {
  return has_extents(view.rank(), view.shape(), need);
}

// The number that must be a multiple of the alignment: the address of the first element, or its
// offset if data is a handle, since the bits of a handle are not an address.
inline std::uint64_t position_of(tensor_view const& view) noexcept {
  return has_address(view.device()) ? reinterpret_cast<std::uintptr_t>(view.data())
                                    : view.byte_offset();
}

DLBRIDGE_NOINLINE inline bool has_alignment_slow(tensor_view const& view,
                                                 std::size_t alignment) noexcept {
  return (position_of(view) & (alignment - 1)) == 0 || view.empty();
}
// As a rule the offset is 0 and data has the alignment; both are then multiples of it, and which of
// them is the position makes no difference.
DLBRIDGE_INLINE bool has_alignment(tensor_view const& view, std::size_t alignment) noexcept {
  std::uint64_t const both = reinterpret_cast<std::uintptr_t>(view.data()) | view.byte_offset();
  return (both & (alignment - 1)) == 0 || has_alignment_slow(view, alignment);
}

// Smaller alignments are as a rule those of the element types, and would lengthen every signature.
constexpr std::size_t max_unstated_alignment = 64;

template <class Text>
constexpr void append_alignment(Text& text, std::uint64_t bytes) noexcept {
  text.append(", aligned to ").append_unsigned(bytes).append(bytes == 1 ? " byte" : " bytes");
}

template <class Text>
DLBRIDGE_INLINE constexpr void append_required_extents(Text& text, requirement const& need,
                                                       bool has_extents) noexcept {
  text.append("[");
  if (need.rank == requirement::any_rank) {
    text.append("...");
  }
  for (int i = 0; i < need.rank; ++i) {
    text.append(i == 0 ? "" : ", ");
    if (!has_extents || need.extents[i] == dynamic_extent) {
      text.append("*");
    } else if (need.extents[i] < 0) {
      char const name[] = {name_of_extent(need.extents[i]), '\0'};
      text.append(name);
    } else {
      text.append_unsigned(static_cast<std::uint64_t>(need.extents[i]));
    }
  }
  text.append("]");
}

template <class Text>
DLBRIDGE_INLINE constexpr void append_filter(Text& text, device_filter where) noexcept {
  if (where.type == device_filter::host) {
    text.append(" on cpu");
  } else if (where.type != device_filter::anywhere) {
    text.append(" on ");
    bool any_ordinal = false;
    for (device_row const& each : device_rows) {
      if (where.id == device_filter::any_id && each.type == where.type) {
        text.append(each.name);
        any_ordinal = true;
      }
    }
    if (!any_ordinal) {
      append_name(text, device(where.type, where.id));
    }
  }
}
}  // namespace detail

/// Appends a requirement in the form of messages and signatures: "uint8[*, n, 3] on cpu,
/// writable".
///
/// @param text The text to append to.
/// @param need The requirement.
/// @param has_extents Whether need.extents is not null. It is a parameter, because g++ with
///   -fsanitize=undefined cannot compare the pointer in a constant expression.
/// @return text.
template <class Text>
constexpr Text& append_requirement(Text& text, requirement const& need, bool has_extents) noexcept {
  if (need.any_type()) {
    text.append("any dtype");
  } else {
    append_name(text, need.type);
  }
  detail::append_required_extents(text, need, has_extents);
  detail::append_filter(text, need.where);
  constexpr char const* orders[] = {"", ", row-major", ", column-major", ", compact"};
  text.append(orders[static_cast<int>(need.order)]);
  if (need.writable) {
    text.append(", writable");
  }
  if (need.alignment > detail::max_unstated_alignment) {
    detail::append_alignment(text, need.alignment);
  }
  if (need.converts && need.type.code != kDLBool) {  // no other dtype converts to bool
    bool const is_integer = need.type.code == kDLInt || need.type.code == kDLUInt;
    text.append(is_integer ? ", converted from narrower integers" : ", converted from real dtypes");
  }
  return text;
}

namespace detail {
DLBRIDGE_LOCAL inline constexpr char const* other_layout_advice = "Pass a copy in that layout";

DLBRIDGE_COLD inline report explain_mismatch(tensor_view const& view,
                                             requirement const& need) noexcept {
  report r;
  auto rule = [&r](bool passes, errc code) {
    if (!passes) {
      r.add(code);
    }
    return !passes;
  };
  append_requirement(r.expected, need, need.extents != nullptr);
  append_name(r.got, view);
  rule(need.any_type() || need.type == view.dtype(), errc::dtype_mismatch);
  rule(need.rank == requirement::any_rank || need.rank == view.rank(), errc::rank_mismatch);
  rule(has_extents(view, need), errc::extent_mismatch);
  rule(need.where.accepts(view.device()), errc::device_mismatch);
  bool const is_copy_enough = r.ok();
  if (rule(has_layout(view, need.order), errc::layout_mismatch)) {
    std::int64_t strides[max_rank];
    view.copy_strides(strides);
    r.got.append(" with strides ");
    append_extents(r.got, view.rank(), strides);
    r.advice = is_copy_enough ? other_layout_advice : nullptr;
  }
  if (rule(!need.writable || !view.read_only(), errc::read_only)) {
    r.got.append(", read-only");
    r.advice = "Take it as const, or pass a writable copy";
  }
  if (rule(has_alignment(view, need.alignment), errc::misaligned)) {
    if (need.alignment <= max_unstated_alignment) {
      append_alignment(r.expected, need.alignment);
    }
    std::uint64_t const position = position_of(view);
    append_alignment(r.got, position & (0 - position));
    r.advice = is_copy_enough && r.advice == nullptr ? "Pass an aligned copy" : r.advice;
  }
  return r;
}
}  // namespace detail

/// Whether the view meets the requirement. The function composes no report. It is inlined, so that
/// a requirement that is a constant costs no more than the rules that it has.
DLBRIDGE_INLINE bool meets(tensor_view const& view, requirement const& need) noexcept {
  return (need.any_type() || detail::are_same(view.dtype(), need.type)) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         detail::has_extents(view, need) && need.where.accepts(view.device()) &&
         detail::has_required_layout(view, need) && (!need.writable || !view.read_only()) &&
         detail::has_alignment(view, need.alignment);
}

namespace detail {
// Whether the struct is an ordinary tensor in host memory, valid, and meets the requirement. If
// not, the caller takes the slow path, check_tensor and check_view, which may still accept the
// tensor.
DLBRIDGE_INLINE bool fits_fast_path(DLTensor const& t, requirement const& need) noexcept {
  bool const plain =
      t.dtype.code == need.type.code && t.dtype.bits == need.type.bits &&
      t.dtype.lanes == need.type.lanes && t.device.device_type == kDLCPU &&
      need.where.accepts(device(t.device)) &&
      (need.rank == requirement::any_rank || t.ndim == need.rank) &&
      (need.order == layout::row_major
           ? is_ordinary_memory<true>(t)
           : is_ordinary_memory(t) && has_layout(t.ndim, t.shape, t.strides, need.order)) &&
      t.byte_offset == 0 && (reinterpret_cast<std::uintptr_t>(t.data) & (need.alignment - 1)) == 0;
  return plain && has_extents(t.ndim, t.shape, need);
}
}  // namespace detail

/// Checks a view against a requirement.
///
/// @param view The view.
/// @param need The requirement.
/// @return a report with every rule that the view breaks: dtype_mismatch, rank_mismatch,
///   extent_mismatch, device_mismatch, layout_mismatch, read_only, misaligned.
inline report check_view(tensor_view const& view, requirement const& need) noexcept {
  return meets(view, need) ? report{} : detail::explain_mismatch(view, need);
}

/// Throws if a view does not meet a requirement.
///
/// @param view The view.
/// @param need The requirement.
/// @throws error with the report of check_view, if the view breaks a rule.
DLBRIDGE_INLINE void require_view(tensor_view const& view, requirement const& need) {
  if (!meets(view, need)) {
    raise(detail::explain_mismatch(view, need));
  }
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
