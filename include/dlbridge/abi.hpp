// What is known before any tensor exists: our version, dlpack.h's version and features, one trait
// per managed struct, visibility macros.
// layer: foundation · before the journey
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

// The version of dlbridge. CMake and the Python package read it from these three lines.
#define DLBRIDGE_VERSION_MAJOR 0
#define DLBRIDGE_VERSION_MINOR 1
#define DLBRIDGE_VERSION_PATCH 0

// Releases before 1.0 lack these macros, and dlpack.h has one include guard for all its versions:
// whichever copy came first on the include path, or in the file, is the one that counts.
#if !defined(DLPACK_MAJOR_VERSION) || !defined(DLPACK_MINOR_VERSION)
#error \
    "dlbridge needs dlpack.h 1.0 or newer, and an older one came first. Put a newer dlpack first \
on the include path, and include dlbridge before headers that device_copy their own copy of dlpack.h."
#elif DLPACK_MAJOR_VERSION != 1
#error \
    "dlbridge reads version 1 of DLPack's structs, and this dlpack.h declares another major \
version. Use a dlpack.h 1.x, or a newer dlbridge."
#endif

// True when dlpack.h is at least 1.minor.
#define DLBRIDGE_DLPACK_AT_LEAST(minor) (DLPACK_MINOR_VERSION >= (minor))

// Whether errors may be thrown. Without exceptions raise() calls DLBRIDGE_ON_ERROR (error.hpp).
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define DLBRIDGE_EXCEPTIONS 1
#else
#define DLBRIDGE_EXCEPTIONS 0
#endif

// The inline namespace names every switch that changes a layout or the meaning of a symbol, so that
// two builds that disagree never meet in the linker.
#if DLBRIDGE_EXCEPTIONS
#define DLBRIDGE_ABI v1
#else
#define DLBRIDGE_ABI v1_no_exceptions
#endif

// LOCAL: an object that every shared library has for itself. Without it the loader merges inline
// variables and function-local statics across libraries (STB_GNU_UNIQUE), also across versions.
// PUBLIC: a type that must be the same one in every library, because it is caught by type.
#if defined(_WIN32)
#define DLBRIDGE_LOCAL
#define DLBRIDGE_PUBLIC
#else
#define DLBRIDGE_LOCAL __attribute__((visibility("hidden")))
#define DLBRIDGE_PUBLIC __attribute__((visibility("default")))
#endif

// NOINLINE keeps a long road's registers out of a short one's instructions, INLINE is for the short
// one; COLD keeps the texts of refusals out of the caller's; ASSUME states what holds.
#if defined(__GNUC__) || defined(__clang__)
#define DLBRIDGE_INLINE inline __attribute__((always_inline))
#define DLBRIDGE_NOINLINE __attribute__((noinline))
#define DLBRIDGE_COLD __attribute__((noinline, cold))
#define DLBRIDGE_ASSUME(condition) \
  do {                             \
    if (!(condition)) {            \
      __builtin_unreachable();     \
    }                              \
  } while (false)
#elif defined(_MSC_VER)
#define DLBRIDGE_INLINE __forceinline
#define DLBRIDGE_NOINLINE __declspec(noinline)
#define DLBRIDGE_COLD __declspec(noinline)
#define DLBRIDGE_ASSUME(condition) __assume(condition)
#else
#define DLBRIDGE_INLINE inline
#define DLBRIDGE_NOINLINE
#define DLBRIDGE_COLD
#define DLBRIDGE_ASSUME(condition) static_cast<void>(0)
#endif

// Lets a compiler warn about a view of a temporary, where it can.
#if defined(__clang__)
#define DLBRIDGE_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define DLBRIDGE_LIFETIMEBOUND
#endif

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// The two managed structs. Their layouts differ; one is never cast to the other (spec 1.2).
enum class struct_kind : std::uint8_t { legacy, versioned };

/// The DLPack version that this library implements and states, never above that of dlpack.h.
constexpr std::uint32_t stated_major = 1;
constexpr std::uint32_t stated_minor = DLPACK_MINOR_VERSION < 3 ? DLPACK_MINOR_VERSION : 3;

/// Bits of DLManagedTensorVersioned::flags (spec 1.8), as 64-bit values on every platform. Unknown
/// bits are kept and ignored.
constexpr std::uint64_t flag_read_only = 1;
constexpr std::uint64_t flag_is_copied = 2;
constexpr std::uint64_t flag_padded = 4;

/// The largest rank that crosses. The protocol names none; NumPy has 64 (spec 1.7).
constexpr int max_rank = 64;

/// Facts about one managed struct; what is done with them is written once (managed.hpp).
template <class Managed>
struct struct_traits;

template <>
struct struct_traits<DLManagedTensor> {
  static constexpr char const* fresh_name() { return "dltensor"; }
  static constexpr char const* used_name() { return "used_dltensor"; }
};

template <>
struct struct_traits<DLManagedTensorVersioned> {
  static constexpr char const* fresh_name() { return "dltensor_versioned"; }
  static constexpr char const* used_name() { return "used_dltensor_versioned"; }
};

/// Name and past name of the capsule that holds the C exchange table (spec 5.1); never consumed.
constexpr char const* exchange_capsule_name() { return "dlpack_exchange_api"; }

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
