// hostile: a managed struct with arbitrary fields, whose deleter frees every part of it; oracle::
// what the documentation of dlbridge says about such a struct, computed with 128 bits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>

#include <sanitizer/asan_interface.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "input.hpp"

/// The number of structs that exist, and of deleter calls so far.
struct account {
  static inline long made = 0;
  static inline long deleted = 0;
};

/// A managed struct in a heap block of its own, with shape and strides in further blocks. The
/// deleter frees all of them, so that ASan reports a second call, and each later access.
template <class Managed>
struct hostile {
  Managed managed;  // the first member: its address is that of the block
  exact_array<std::int64_t> shape;
  exact_array<std::int64_t> strides;
  exact_array<unsigned char> memory;
  std::size_t memory_size = 0;
  bool is_poisoned = false;

  static constexpr bool is_versioned = std::is_same_v<Managed, DLManagedTensorVersioned>;
  DLTensor& tensor() { return managed.dl_tensor; }

  /// Only the version, the context and the deleter may be read (spec 2.1).
  void poison() {
    is_poisoned = true;
    if constexpr (is_versioned) {
      ASAN_POISON_MEMORY_REGION(&managed.flags, sizeof managed.flags);
    }
    ASAN_POISON_MEMORY_REGION(&managed.dl_tensor, sizeof managed.dl_tensor);
  }
  ~hostile() {
    if (is_poisoned) {
      ASAN_UNPOISON_MEMORY_REGION(this, sizeof *this);
    }
  }
  static void destroy(Managed* self) {
    ++account::deleted;
    delete reinterpret_cast<hostile*>(self);
  }
};

inline std::int32_t any_rank(input& in) {
  int const choice = in.between(0, 31);
  return choice < 26    ? choice % 5
         : choice == 26 ? 64
         : choice == 27 ? 65
         : choice == 28 ? in.between(5, 63)
         : choice == 29 ? -1
                        : in.bits<std::int32_t>();
}

inline DLDataType any_dtype(input& in) {
  constexpr DLDataType usual[] = {
      {kDLFloat, 32, 1}, {kDLFloat, 64, 1},   {kDLInt, 8, 1},  {kDLInt, 16, 1},
      {kDLInt, 32, 1},   {kDLInt, 64, 1},     {kDLUInt, 8, 1}, {kDLUInt, 16, 1},
      {kDLUInt, 32, 1},  {kDLUInt, 64, 1},    {kDLBool, 8, 1}, {kDLInt, 4, 1},
      {kDLUInt, 1, 1},   {kDLComplex, 64, 1}, {kDLUInt, 8, 3}, {15, 6, 1}};
  if (in.one_in(5)) {
    return {in.bits<std::uint8_t>(), in.bits<std::uint8_t>(), in.bits<std::uint16_t>()};
  }
  return in.pick(usual);
}

inline DLDevice any_device(input& in) {
  DLDevice device{kDLCPU, 0};
  if (in.one_in(4)) {
    int const type = in.one_in(8) ? in.bits<std::int32_t>() : in.between(0, 24);
    std::memcpy(&device.device_type, &type, sizeof type);  // the value need not be an enumerator
    device.device_id = in.one_in(2) ? in.bits<std::int32_t>() : 0;
  }
  return device;
}

/// Fills a DLTensor with arbitrary fields. Ranks that dlbridge refuses get arrays of no element.
template <class Managed>
void fill(input& in, hostile<Managed>& h) {
  DLTensor& t = h.tensor();
  t.ndim = any_rank(in);
  std::size_t const rank = t.ndim < 0 || t.ndim > 64 ? 0 : static_cast<std::size_t>(t.ndim);
  if (!in.one_in(16)) {
    h.shape = make_exact<std::int64_t>(rank);
  }
  if (!in.one_in(4)) {
    h.strides = make_exact<std::int64_t>(rank);
  }
  bool const is_plain = in.one_in(3);
  for (std::size_t i = 0; i < rank; ++i) {
    if (h.shape != nullptr) {
      h.shape[i] = is_plain || rank > 8 ? in.between(1, rank > 8 ? 2 : 5) : in.integer();
    }
    if (h.strides != nullptr) {
      h.strides[i] = is_plain ? in.between(-3, 7) : in.integer();
    }
  }
  if (h.shape != nullptr && h.strides != nullptr && in.one_in(4)) {  // row- or column-major
    bool const last_first = in.one_in(2);
    std::uint64_t step = 1;
    for (std::size_t n = 0; n < rank; ++n) {
      std::size_t const i = last_first ? rank - 1 - n : n;
      h.strides[i] = static_cast<std::int64_t>(step);
      step *= static_cast<std::uint64_t>(h.shape[i]);
    }
  }
  t.shape = h.shape.get();
  t.strides = h.strides.get();
  t.dtype = any_dtype(in);
  t.device = any_device(in);
  t.byte_offset = in.one_in(3) ? static_cast<std::uint64_t>(in.integer()) : 0;
  h.memory_size = static_cast<std::size_t>(in.between(0, 255)) * 2;
  h.memory = make_exact<unsigned char>(h.memory_size);
  for (std::size_t i = 0; i < h.memory_size; ++i) {
    h.memory[i] = static_cast<unsigned char>(i * 37 + (i >> 3) + 1);
  }
  t.data = h.memory.get() + in.between(0, 15) * static_cast<int>(h.memory_size / 16);
  if (in.one_in(10)) {
    std::uint64_t const bits = in.one_in(2) ? in.bits<std::uint64_t>() : 0;
    t.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits));
  }
}

/// A new struct with arbitrary fields. With no_deleter the caller calls hostile::destroy itself.
template <class Managed>
hostile<Managed>* make_hostile(input& in, bool no_deleter) {
  auto* const h = new hostile<Managed>{};
  ++account::made;
  h->managed.deleter = no_deleter ? nullptr : &hostile<Managed>::destroy;
  h->managed.manager_ctx = h;
  if constexpr (hostile<Managed>::is_versioned) {
    constexpr std::uint32_t majors[] = {1, 1, 1, 1, 1, 1, 0, 2};
    h->managed.version.major = in.one_in(20) ? in.bits<std::uint32_t>() : in.pick(majors);
    h->managed.version.minor = in.one_in(20) ? in.bits<std::uint32_t>() : 1;
    h->managed.flags = in.one_in(8) ? in.bits<std::uint64_t>() : in.bits<std::uint8_t>() & 7U;
  }
  fill(in, *h);
  return h;
}

namespace oracle {

using wide = __int128;
constexpr wide limit = wide{1} << 100;  // larger results are clamped to it

inline wide clamp(wide x) { return x > limit ? limit : x < -limit ? -limit : x; }
/// The product; the factors have at most 65 bits or are clamped.
inline wide times(wide a, wide b) {
  wide out = 0;
  return __builtin_mul_overflow(a, b, &out) ? ((a < 0) != (b < 0) ? -limit : limit) : clamp(out);
}

inline bool known_dtype(DLDataType d) {
  int const fixed = d.code >= 7 && d.code <= 14    ? 8
                    : d.code == 15 || d.code == 16 ? 6
                    : d.code == 17                 ? 4
                                                   : 0;
  return d.code <= 18 && d.bits != 0 && d.lanes != 0 && (fixed == 0 || d.bits == fixed);
}
inline bool known_device(int type) { return (type >= 1 && type <= 4) || (type >= 7 && type <= 21); }
inline bool device_with_addresses(int type) {
  switch (type) {
    case 1:   // CPU
    case 2:   // CUDA
    case 3:   // CUDA, pinned
    case 10:  // ROCm
    case 11:  // ROCm, pinned
    case 13:  // CUDA, managed
    case 14:  // oneAPI
    case 20:  // TPU, pinned
      return true;
    default:
      return false;
  }
}
inline bool device_of_host(int type) {
  return type == 1 || type == 3 || type == 11 || type == 13 || type == 20;
}
inline std::int64_t bits_of(DLDataType d) { return std::int64_t{d.bits} * d.lanes; }
inline std::int64_t bytes_of(DLDataType d) { return (bits_of(d) + 7) / 8; }

inline wide count(DLTensor const& t) {
  wide total = 1;
  bool empty = false;
  for (int i = 0; i < t.ndim; ++i) {
    empty = empty || t.shape[i] == 0;
    total = times(total, t.shape[i]);
  }
  return empty ? 0 : total;
}

/// The stride of dimension i, also if the strides are null. The tensor has elements.
inline wide stride(DLTensor const& t, int i) {
  if (t.strides != nullptr) {
    return t.strides[i];
  }
  wide step = 1;
  for (int faster = i + 1; faster < t.ndim; ++faster) {
    step = times(step, t.shape[faster]);
  }
  return step;
}

/// The offsets in elements of the lowest and the highest element. The tensor has elements.
inline std::pair<wide, wide> reach(DLTensor const& t) {
  wide low = 0;
  wide high = 0;
  for (int i = 0; i < t.ndim; ++i) {
    wide const span = times(wide{t.shape[i]} - 1, stride(t, i));
    (span < 0 ? low : high) = clamp((span < 0 ? low : high) + span);
  }
  return {low, high};
}

/// Whether check_tensor must accept the tensor.
inline bool is_valid(DLTensor const& t) {
  if (t.ndim < 0 || t.ndim > 64 || (t.ndim > 0 && t.shape == nullptr)) {
    return false;
  }
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) {
      return false;
    }
  }
  int type = 0;
  std::memcpy(&type, &t.device.device_type, sizeof type);
  if (!known_dtype(t.dtype) || !known_device(type)) {
    return false;
  }
  wide const elements = count(t);
  if (elements == 0) {
    return true;
  }
  if (elements > INT64_MAX || times(elements, bits_of(t.dtype)) > INT64_MAX) {
    return false;
  }
  auto const [low, high] = reach(t);
  wide const first = times(low, bytes_of(t.dtype));
  wide const last = times(high + 1, bytes_of(t.dtype));
  constexpr wide most = INT64_MAX / 8;
  if (first < -most || last > most || wide{t.byte_offset} > most) {
    return false;
  }
  if (!device_with_addresses(type)) {
    return true;
  }
  wide const base = wide{reinterpret_cast<std::uintptr_t>(t.data)} + t.byte_offset;
  return t.data != nullptr && base + first >= 0 && base + last <= wide{UINTPTR_MAX};
}

}  // namespace oracle
