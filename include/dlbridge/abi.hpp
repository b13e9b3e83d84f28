// struct_kind, struct_traits and the DLBRIDGE_ macros: define the versions, flags, capsule names
// and compiler attributes that all other headers use.
// layer: foundation
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(DLBRIDGE_SINGLE_HEADER)
#error \
    "the single header of dlbridge was included before this one. Include either the single header \
or installed headers of dlbridge in a unit."
#endif

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error \
    "dlbridge needs C++17 or newer: compile with -std=c++17, or with /std:c++17 of MSVC. In CMake, \
link dlbridge::dlbridge, which requests it."
#endif

// GCC does not stop at the include of a file that __has_include did not find under the same name.
// It would go on to the next #error, which is about an older dlpack.h.
#if !__has_include(<dlpack/./dlpack.h>)
#error \
    "dlbridge needs dlpack/dlpack.h 1.0 or newer, and the compiler found none. In CMake, link \
dlbridge::dlbridge. Elsewhere, pass the output of `pkg-config --cflags dlbridge`; or use -I with the \
output of `python -m dlbridge --include-dir`, `python -m dlbridge_headers --include-dir`, or \
`tvm-ffi-config --dlpack-includedir` of the pip package apache-tvm-ffi."
#endif
#include <dlpack/dlpack.h>

#include <cstdint>

/// @file
/// The macros that tell the version of dlbridge and the build.

// The CMake files and the Python package read the version from these three lines.
#define DLBRIDGE_VERSION_MAJOR 0  ///< The major number of the version of dlbridge.
#define DLBRIDGE_VERSION_MINOR 1  ///< The minor number of the version of dlbridge.
#define DLBRIDGE_VERSION_PATCH 0  ///< The patch number of the version of dlbridge.

// dlpack.h lacks these macros before 1.0. All its versions share one include guard, so the
// compiler uses the copy that is included first.
#if !defined(DLPACK_MAJOR_VERSION) || !defined(DLPACK_MINOR_VERSION)
#error \
    "dlbridge needs dlpack.h 1.0 or newer, and an older one was included first, such as that of \
Debian's libdlpack-dev 0.6 in /usr/include. Put the folder of a newer one first: link \
dlbridge::dlbridge in CMake, pass the output of `pkg-config --cflags dlbridge`, or use -I with the \
output of `python -m dlbridge --include-dir` or of `tvm-ffi-config --dlpack-includedir`. Include \
dlbridge before headers that bring their own dlpack.h."
#elif DLPACK_MAJOR_VERSION != 1
#error \
    "dlbridge reads version 1 of DLPack's structs, and this dlpack.h declares another major \
version. Use a dlpack.h 1.x, or a newer dlbridge."
#endif

/// Whether dlpack.h is version 1.minor or newer, for the preprocessor.
#define DLBRIDGE_DLPACK_AT_LEAST(minor) (DLPACK_MINOR_VERSION >= (minor))

/// 1 if exceptions are enabled, otherwise 0. Without them raise() calls DLBRIDGE_ON_ERROR.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define DLBRIDGE_EXCEPTIONS 1
#else
#define DLBRIDGE_EXCEPTIONS 0
#endif

/// @cond
// The number of the layouts. A change of the layout of a public type, or of what its members mean,
// raises it, so that the linker and the loader never merge symbols of two such builds.
#define DLBRIDGE_ABI_NUMBER 1

// The name of the inline namespace has this number, and what else changes a layout: exceptions, and
// a dlpack.h before 1.2, which lacks exchange tables. All units of a program define
// DLBRIDGE_ON_ERROR alike. Header-only and compiled units use one name, and exchange tensors.
#if DLBRIDGE_EXCEPTIONS && DLBRIDGE_DLPACK_AT_LEAST(2)
#define DLBRIDGE_ABI_OPTIONS
#elif DLBRIDGE_EXCEPTIONS
#define DLBRIDGE_ABI_OPTIONS _no_exchange
#elif DLBRIDGE_DLPACK_AT_LEAST(2)
#define DLBRIDGE_ABI_OPTIONS _no_exceptions
#else
#define DLBRIDGE_ABI_OPTIONS _no_exceptions_no_exchange
#endif
#define DLBRIDGE_ABI_JOINED(number, options) v##number##options
#define DLBRIDGE_ABI_OF(number, options) DLBRIDGE_ABI_JOINED(number, options)
#define DLBRIDGE_ABI DLBRIDGE_ABI_OF(DLBRIDGE_ABI_NUMBER, DLBRIDGE_ABI_OPTIONS)

// DLBRIDGE_HEADER_ONLY: 1 if each header includes its bodies, the .ipp file; 0 with
// DLBRIDGE_COMPILED, which is for units that are linked with the sources of src/, once compiled.
// DLBRIDGE_API: begins a body of an .ipp file.
#if defined(DLBRIDGE_COMPILED)
#define DLBRIDGE_HEADER_ONLY 0
#define DLBRIDGE_API
#else
#define DLBRIDGE_HEADER_ONLY 1
#define DLBRIDGE_API inline
#endif

// DLBRIDGE_LOCAL: gives every shared library its own copy of a variable or function, or of all in a
// namespace. Without it the loader merges inline variables and function-local statics of all
// libraries (STB_GNU_UNIQUE), and the functions of those that it loads with RTLD_GLOBAL. The
// headers of python/ and runtime/, whose functions use state of their library, hide everything.
// DLBRIDGE_PUBLIC: makes the type the same in every shared library with the same DLBRIDGE_ABI, so
// that handlers in one library catch exceptions that another one throws.
#if defined(_WIN32)
#define DLBRIDGE_LOCAL
#define DLBRIDGE_PUBLIC
#else
#define DLBRIDGE_LOCAL __attribute__((visibility("hidden")))
#define DLBRIDGE_PUBLIC __attribute__((visibility("default")))
#endif

// DLBRIDGE_INLINE: inlines a fast path into every caller.
// DLBRIDGE_NOINLINE: keeps a slow path out of line, so that its caller needs fewer registers.
// DLBRIDGE_COLD: declares a function that composes messages, or calls a driver, which takes
// microseconds. It is compiled for size, and compilers take its calls for unlikely.
// DLBRIDGE_NOINLINE stands with it: at the first declaration of a template, since nvcc refuses an
// attribute of its later ones, and at the body of other functions. GCC warns of a function that is
// declared noinline and then inline, so that the definition of such a template is not inline.
// DLBRIDGE_ALIGNED: starts a function at a cache line. Otherwise the time of a short call from
// Python depends on the size of the code before the function, by up to 40 %.
// DLBRIDGE_ASSUME: lets the optimizer rely on a condition; if it is false, behaviour is undefined.
#if defined(__GNUC__) || defined(__clang__)
#define DLBRIDGE_INLINE inline __attribute__((always_inline))
#define DLBRIDGE_NOINLINE __attribute__((noinline))
#define DLBRIDGE_COLD __attribute__((cold))
#define DLBRIDGE_ALIGNED __attribute__((aligned(64)))
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
#define DLBRIDGE_ALIGNED
#define DLBRIDGE_ASSUME(condition) __assume(condition)
#else
#define DLBRIDGE_INLINE inline
#define DLBRIDGE_NOINLINE
#define DLBRIDGE_COLD
#define DLBRIDGE_ALIGNED
#define DLBRIDGE_ASSUME(condition) static_cast<void>(0)
#endif

// Lets compilers with [[clang::lifetimebound]] warn about a view of a temporary.
#if defined(__clang__)
#define DLBRIDGE_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define DLBRIDGE_LIFETIMEBOUND
#endif

// DLBRIDGE_BEGIN_LOCAL_NAMESPACE begins a namespace with DLBRIDGE_LOCAL.
#define DLBRIDGE_BEGIN_NAMESPACE \
  namespace dlbridge {           \
  inline namespace DLBRIDGE_ABI {
#define DLBRIDGE_BEGIN_LOCAL_NAMESPACE \
  namespace dlbridge {                 \
  inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
#define DLBRIDGE_END_NAMESPACE \
  }                            \
  }
/// @endcond

/// The C++ library: tensors of DLPack as owners and views, their checks and copies, the arrays that
/// become tensors, and the functions of extensions that take and return them.
DLBRIDGE_BEGIN_NAMESPACE
/// The kind of a managed struct of DLPack: DLManagedTensor is legacy, DLManagedTensorVersioned is
/// versioned. Their layouts differ, so one must never be cast to the other (spec 1.2).
enum class struct_kind : std::uint8_t { legacy, versioned };

/// The major number of the DLPack version that dlbridge implements and writes into structs.
DLBRIDGE_LOCAL inline constexpr std::uint32_t stated_major = 1;
/// The minor number of that version, which is never newer than the dlpack.h in use.
DLBRIDGE_LOCAL inline constexpr std::uint32_t stated_minor =
    DLPACK_MINOR_VERSION < 3 ? DLPACK_MINOR_VERSION : 3;

/// The bit of DLManagedTensorVersioned::flags (spec 1.8) of memory that must not be written.
/// dlbridge keeps and ignores unknown bits.
DLBRIDGE_LOCAL inline constexpr std::uint64_t flag_read_only = 1;
/// The bit of a copy that the producer made, of which the consumer is the only owner.
DLBRIDGE_LOCAL inline constexpr std::uint64_t flag_is_copied = 2;
/// The bit of sub-byte elements that each fill whole bytes.
DLBRIDGE_LOCAL inline constexpr std::uint64_t flag_padded = 4;

/// The largest rank that dlbridge accepts. DLPack defines no limit; NumPy's limit is 64.
DLBRIDGE_LOCAL inline constexpr int max_rank = 64;

/// The capsule names of one managed struct: fresh_name() until a consumer takes the tensor out of
/// the capsule, used_name() afterwards (spec 3.1).
/// @tparam Managed DLManagedTensor or DLManagedTensorVersioned.
template <class Managed>
struct struct_traits;

/// The capsule names of the legacy struct.
template <>
struct struct_traits<DLManagedTensor> {
  static constexpr char const* fresh_name() { return "dltensor"; }      ///< While fresh.
  static constexpr char const* used_name() { return "used_dltensor"; }  ///< Once used.
};

/// The capsule names of the versioned struct.
template <>
struct struct_traits<DLManagedTensorVersioned> {
  static constexpr char const* fresh_name() { return "dltensor_versioned"; }      ///< While fresh.
  static constexpr char const* used_name() { return "used_dltensor_versioned"; }  ///< Once used.
};

/// The name of the capsule that holds a C exchange table (spec 5.1). Consumers never rename it.
constexpr char const* exchange_capsule_name() { return "dlpack_exchange_api"; }

DLBRIDGE_END_NAMESPACE
