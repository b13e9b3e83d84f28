// errc, report, error and raise: list the reasons for refusals, describe a refusal, and throw it.
// layer: foundation
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The reasons why dlbridge refuses a tensor or a request. docs/reference/errors.md describes when
/// each of them is reported.
enum class errc : std::uint8_t {
  // The object, its capsule or its struct is invalid.
  not_a_producer,    ///< The object has no `__dlpack__`.
  not_a_capsule,     ///< The object is no DLPack capsule, or one of another name.
  capsule_used,      ///< A consumer took the tensor out of the capsule before.
  version_mismatch,  ///< The major version is not 1; a legacy struct lacks a needed flag.
  malformed,         ///< The rank, the shape, an extent or an array interface is invalid.
  overflow,          ///< A size, an address or an index does not fit its type.
  null_data,         ///< A tensor with elements has no memory; an owner is empty.
  // The tensor is valid, but does not meet a requirement of the caller. Several may apply at once.
  dtype_mismatch,   ///< The dtype is not the required one, or unknown to the receiver.
  rank_mismatch,    ///< The rank is not the required one.
  extent_mismatch,  ///< An extent is not the required one.
  device_mismatch,  ///< The device is not the required one, or its memory is out of reach.
  layout_mismatch,  ///< The strides are not those of the required layout.
  read_only,       ///< The memory must be writable, or a legacy struct cannot state that it is not.
  misaligned,      ///< The first element is not aligned as required.
  value_mismatch,  ///< An element would change in a conversion by value.
  // The request cannot be fulfilled.
  copy_forbidden,   ///< A copy is needed, and the caller forbids copies.
  bad_argument,     ///< A value is none of those that a parameter accepts.
  bad_stream,       ///< The device has no such stream.
  capturing,        ///< A stream is being captured into a graph, and nothing was enqueued.
  not_permitted,    ///< A host function that runs on a stream used the driver.
  runtime_missing,  ///< The driver of the device was not found, or lacks a function.
  runtime_failed,   ///< A call of the driver failed.
  producer_failed,  ///< The producer returned a value that DLPack does not allow.
  out_of_memory,    ///< The host or the device has no memory left.
};

/// The kind of failure that a reason describes. It determines the Python exception class
/// (python/error.hpp) and the form of the message.
enum class error_kind : std::uint8_t {
  type,            ///< The object is not a tensor: TypeError.
  value,           ///< The caller passed an invalid value: ValueError.
  buffer,          ///< The tensor cannot be exchanged: BufferError.
  mismatch,        ///< The tensor is valid but does not meet a requirement: BufferError.
  copy_forbidden,  ///< A needed copy is forbidden: CopyForbiddenError (BufferError, ValueError).
  runtime,         ///< A device runtime failed: RuntimeError.
  memory           ///< An allocation failed: MemoryError.
};

/// A row of errc_rows: a reason, its name, the noun that messages use for it, and its kind.
struct errc_row {
  errc code;         ///< The reason.
  char const* name;  ///< The name of its enumerator.
  char const* noun;  ///< What messages call it.
  error_kind kind;   ///< Its kind.
};
/// One row for each reason, in the order of errc.
DLBRIDGE_LOCAL inline constexpr errc_row errc_rows[] = {
    {errc::not_a_producer, "not_a_producer", "not a DLPack producer", error_kind::type},
    {errc::not_a_capsule, "not_a_capsule", "not a DLPack capsule", error_kind::type},
    {errc::capsule_used, "capsule_used", "capsule already used", error_kind::value},
    {errc::version_mismatch, "version_mismatch", "unreadable DLPack version", error_kind::buffer},
    {errc::malformed, "malformed", "malformed tensor", error_kind::buffer},
    {errc::overflow, "overflow", "size overflows", error_kind::buffer},
    {errc::null_data, "null_data", "tensor without data", error_kind::buffer},
    {errc::dtype_mismatch, "dtype_mismatch", "dtype", error_kind::mismatch},
    {errc::rank_mismatch, "rank_mismatch", "rank", error_kind::mismatch},
    {errc::extent_mismatch, "extent_mismatch", "extents", error_kind::mismatch},
    {errc::device_mismatch, "device_mismatch", "device", error_kind::mismatch},
    {errc::layout_mismatch, "layout_mismatch", "layout", error_kind::mismatch},
    {errc::read_only, "read_only", "writability", error_kind::mismatch},
    {errc::misaligned, "misaligned", "alignment", error_kind::mismatch},
    {errc::value_mismatch, "value_mismatch", "value", error_kind::mismatch},
    {errc::copy_forbidden, "copy_forbidden", "a copy is needed but forbidden",
     error_kind::copy_forbidden},
    {errc::bad_argument, "bad_argument", "bad argument", error_kind::value},
    {errc::bad_stream, "bad_stream", "bad stream", error_kind::value},
    {errc::capturing, "capturing", "stream is capturing", error_kind::runtime},
    {errc::not_permitted, "not_permitted", "driver call not permitted here", error_kind::runtime},
    {errc::runtime_missing, "runtime_missing", "device runtime not found", error_kind::runtime},
    {errc::runtime_failed, "runtime_failed", "device runtime failed", error_kind::runtime},
    {errc::producer_failed, "producer_failed", "producer failed", error_kind::buffer},
    {errc::out_of_memory, "out_of_memory", "out of memory", error_kind::memory},
};
/// The number of reasons.
constexpr std::size_t errc_count = sizeof(errc_rows) / sizeof(errc_rows[0]);

/// The row of a reason.
constexpr errc_row const& row(errc code) noexcept {
  return errc_rows[static_cast<std::size_t>(code)];
}

namespace detail {
// What each bounded_text begins with. Its characters follow in memory, so that one function serves
// all capacities, and a call needs few instructions: a refusal appends thirty texts.
struct text_head {
  std::uint16_t size;
  std::uint16_t capacity;
  char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
};
}  // namespace detail

/// A text of bounded length that needs no heap. A text that does not fit is truncated and ends in
/// "...", or in a few more dots in place of the bytes of a character of UTF-8 that would be split.
/// @tparam Capacity Bytes, including the terminating null.
template <std::size_t Capacity>
class bounded_text {
  static_assert(Capacity >= 8 && Capacity < 65536, "the capacity holds \"...\" and fits 16 bits");

 public:
  bounded_text() noexcept;  ///< The empty text.
  /// Copies a text.
  explicit bounded_text(char const* text) noexcept : bounded_text() { append(text); }

  char const* c_str() const noexcept { return data_; }      ///< The text, null-terminated.
  std::size_t size() const noexcept { return head_.size; }  ///< Its bytes, without the null.
  bool empty() const noexcept { return head_.size == 0; }   ///< Whether it has no bytes.

  /// Appends a null-terminated text. Inlined, so that compilers compute the length of a literal.
  DLBRIDGE_INLINE bounded_text& append(char const* text) noexcept {
    return append(text, std::strlen(text));
  }
  bounded_text& append(char const* text, std::size_t length) noexcept;  ///< Appends length bytes.
  bounded_text& append(std::int64_t number) noexcept;            ///< Appends a number in decimal.
  bounded_text& append_unsigned(std::uint64_t number) noexcept;  ///< Appends it in decimal.

 private:
  detail::text_head head_{0, Capacity};
  char data_[Capacity];
};

/// The result of a check: the reasons of a refusal, what was expected and what was received. A
/// report without reasons means success. Trivially copyable.
struct [[nodiscard]] report {
  std::uint32_t reasons = 0;     ///< The reasons: bit i stands for errc(i).
  char const* advice = nullptr;  ///< The remedy as a static text, or null.
  bounded_text<240> expected{};  ///< What the check required.
  bounded_text<240> got{};       ///< What the check received.

  /// Whether the report has no reason, which means success.
  bool ok() const noexcept { return reasons == 0; }
  /// Whether the report has the reason.
  bool has(errc code) const noexcept { return (reasons >> static_cast<unsigned>(code) & 1) != 0; }
  /// Adds a reason.
  void add(errc code) noexcept { reasons |= std::uint32_t{1} << static_cast<unsigned>(code); }
  /// The first reason in the order of errc.
  /// @pre ok() is false.
  errc code() const noexcept;
};

/// A report with one reason.
/// @param code The reason.
/// @param expected What was required; copied.
/// @param got What was received; copied.
/// @param advice The remedy: a text with static storage duration, or null.
DLBRIDGE_COLD report refusal(errc code, char const* expected, char const* got,
                             char const* advice = nullptr) noexcept;

/// The text of the message of a report.
using message_text = bounded_text<640>;

/// Appends the message of a report to a text: what was expected, what was received, every reason
/// and the remedy. @pre r.ok() is false.
template <std::size_t N>
void append_message(bounded_text<N>& text, report const& r) noexcept;
/// The message of a report, as append_message writes it: "expected uint8[*, *, 3] on cpu; got
/// int64[4, 2] on cuda:0: dtype, rank, device differ".
DLBRIDGE_COLD message_text message(report const& r) noexcept;

/// The exception of the C++ interface. It is the same type in all shared libraries that are built
/// with the same version of dlbridge and with the same DLBRIDGE_ABI, so one library can catch what
/// another one throws. A dlpack.h before 1.2 gives another DLBRIDGE_ABI than a newer one.
class DLBRIDGE_PUBLIC error : public std::exception {
 public:
  explicit error(report const& why) noexcept : why_(why), text_(message(why)) {}  ///< Copies it.
  /// The first reason; why() has all of them.
  errc code() const noexcept { return why_.code(); }
  /// The report of the exception, valid as long as the exception.
  report const& why() const noexcept { return why_; }
  char const* what() const noexcept override { return text_.c_str(); }  ///< As message(why()).

 private:
  report why_;
  message_text text_;
};

/// Throws error(why). In a build without exceptions, it calls DLBRIDGE_ON_ERROR(why), which must
/// not return, if the program defines that macro. Otherwise it prints the message to stderr and
/// calls std::terminate. All translation units of a program define the macro alike, because the
/// linker keeps one raise of them all.
/// @param why The refusal.
/// @throws error with the report why, in builds with exceptions.
/// @pre why.ok() is false.
[[noreturn]] DLBRIDGE_COLD void raise(report const& why);

DLBRIDGE_END_NAMESPACE

#include <dlbridge/error.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/error.ipp>
#endif
