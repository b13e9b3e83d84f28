// SPDX-License-Identifier: BSD-3-Clause
// The DLPack functions by hand, with dlpack.h only.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dlpack.hpp"

namespace nd::before {
namespace {

DLDataType to_dl(dtype type) {
  switch (type) {
    case dtype::boolean:
      return {kDLBool, 8, 1};
    case dtype::int8:
      return {kDLInt, 8, 1};
    case dtype::int16:
      return {kDLInt, 16, 1};
    case dtype::int32:
      return {kDLInt, 32, 1};
    case dtype::int64:
      return {kDLInt, 64, 1};
    case dtype::uint8:
      return {kDLUInt, 8, 1};
    case dtype::uint16:
      return {kDLUInt, 16, 1};
    case dtype::uint32:
      return {kDLUInt, 32, 1};
    case dtype::uint64:
      return {kDLUInt, 64, 1};
    case dtype::float16:
      return {kDLFloat, 16, 1};
    case dtype::bfloat16:
      return {kDLBfloat, 16, 1};
    case dtype::float32:
      return {kDLFloat, 32, 1};
    case dtype::float64:
      return {kDLFloat, 64, 1};
    case dtype::complex64:
      return {kDLComplex, 64, 1};
    case dtype::complex128:
      return {kDLComplex, 128, 1};
    case dtype::text:
      break;
  }
  throw std::invalid_argument("unsupported dtype");
}

dtype from_dl(DLDataType type) {
  switch (type.code) {
    case kDLBool:
      return dtype::boolean;
    case kDLInt:
      switch (type.bits) {
        case 8:
          return dtype::int8;
        case 16:
          return dtype::int16;
        case 32:
          return dtype::int32;
        case 64:
          return dtype::int64;
      }
      break;
    case kDLUInt:
      switch (type.bits) {
        case 8:
          return dtype::uint8;
        case 16:
          return dtype::uint16;
        case 32:
          return dtype::uint32;
        case 64:
          return dtype::uint64;
      }
      break;
    case kDLFloat:
      switch (type.bits) {
        case 16:
          return dtype::float16;
        case 32:
          return dtype::float32;
        case 64:
          return dtype::float64;
      }
      break;
    case kDLBfloat:
      return dtype::bfloat16;
    case kDLComplex:
      switch (type.bits) {
        case 64:
          return dtype::complex64;
        case 128:
          return dtype::complex128;
      }
      break;
  }
  throw std::invalid_argument("unsupported dtype");
}

DLDevice to_dl(device where) {
  return {where.type == device::cuda ? kDLCUDA : kDLCPU, where.index};
}

device from_dl(DLDevice where) {
  switch (where.device_type) {
    case kDLCPU:
      return {device::cpu, 0};
    case kDLCUDA:
      return {device::cuda, where.device_id};
    default:
      throw std::invalid_argument("unsupported device");
  }
}

// The managed struct, and what it points to.
struct Holder {
  array owner;
  std::vector<std::int64_t> strides;
  DLManagedTensorVersioned managed;
};

template <class Managed>
array import(Managed* managed, bool writable) {
  DLTensor const& t = managed->dl_tensor;
  dtype const type = from_dl(t.dtype);
  device const where = from_dl(t.device);
  sizes shape(t.shape, t.shape + t.ndim);
  sizes steps(shape.size());
  std::int64_t step = bytes_of(type);
  for (std::size_t i = shape.size(); i-- > 0;) {
    steps[i] = t.strides != nullptr ? t.strides[i] * bytes_of(type) : step;
    step *= shape[i];
  }
  std::shared_ptr<void> memory(managed, [](void* p) {
    auto* const self = static_cast<Managed*>(p);
    self->deleter(self);
  });
  void* const data = static_cast<char*>(t.data) + t.byte_offset;
  return array(std::move(memory), data, type, std::move(shape), std::move(steps), where, writable);
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(array a) {
  DLDataType const type = to_dl(a.type());
  auto holder = std::make_unique<Holder>(Holder{std::move(a), {}, {}});
  for (std::int64_t const step : holder->owner.steps()) {
    holder->strides.push_back(step / bytes_of(holder->owner.type()));
  }
  DLTensor& t = holder->managed.dl_tensor;
  t.data = holder->owner.data();
  t.device = to_dl(holder->owner.where());
  t.ndim = static_cast<std::int32_t>(holder->owner.shape().size());
  t.dtype = type;
  t.shape = const_cast<std::int64_t*>(holder->owner.shape().data());
  t.strides = holder->strides.data();
  t.byte_offset = 0;
  holder->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  holder->managed.flags = holder->owner.writable() ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  holder->managed.manager_ctx = holder.get();
  holder->managed.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<Holder*>(self->manager_ctx);
  };
  return &holder.release()->managed;
}

array from_dlpack(DLManagedTensorVersioned* tensor) {
  return import(tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0);
}

array from_dlpack(DLManagedTensor* tensor) { return import(tensor, true); }

}  // namespace nd::before
