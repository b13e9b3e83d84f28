// SPDX-License-Identifier: BSD-3-Clause
// The same functions with dlbridge.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <dlbridge/dlbridge.hpp>

#include "dlpack.hpp"

// [table]
namespace {

struct dtype_pair {
  nd::dtype own;
  dlbridge::dtype exchanged;
};
constexpr dtype_pair dtypes[] = {
    {nd::dtype::boolean, {kDLBool, 8}},        {nd::dtype::int8, {kDLInt, 8}},
    {nd::dtype::int16, {kDLInt, 16}},          {nd::dtype::int32, {kDLInt, 32}},
    {nd::dtype::int64, {kDLInt, 64}},          {nd::dtype::uint8, {kDLUInt, 8}},
    {nd::dtype::uint16, {kDLUInt, 16}},        {nd::dtype::uint32, {kDLUInt, 32}},
    {nd::dtype::uint64, {kDLUInt, 64}},        {nd::dtype::float16, {kDLFloat, 16}},
    {nd::dtype::bfloat16, {kDLBfloat, 16}},    {nd::dtype::float32, {kDLFloat, 32}},
    {nd::dtype::float64, {kDLFloat, 64}},      {nd::dtype::complex64, {kDLComplex, 64}},
    {nd::dtype::complex128, {kDLComplex, 128}}};

dlbridge::dtype exchanged(nd::dtype type) {
  for (dtype_pair const& each : dtypes) {
    if (each.own == type) {
      return each.exchanged;
    }
  }
  return dlbridge::dtype();  // no dtype: prepare refuses it
}

nd::dtype own(dlbridge::dtype type) {
  for (dtype_pair const& each : dtypes) {
    if (each.exchanged == type) {
      return each.own;
    }
  }
  dlbridge::raise(dlbridge::refusal(dlbridge::errc::dtype_mismatch, "a dtype of nd::array",
                                    dlbridge::name_of(type).c_str()));
}

}  // namespace
// [/table]

// [traits]
template <>
struct dlbridge::array_traits<nd::array> {
  // Refuses what a description cannot express.
  static void prepare(nd::array& a) {
    if (exchanged(a.type()) == dtype()) {
      raise(
          refusal(errc::dtype_mismatch, "a dtype of DLPack", "text", "Export an array of numbers"));
    }
    for (std::int64_t const step : a.steps()) {
      if (step % nd::bytes_of(a.type()) != 0) {
        raise(refusal(errc::layout_mismatch, "steps of whole elements", "a field of records",
                      "Copy the array"));
      }
    }
  }
  static description describe(nd::array& a) noexcept {
    std::size_t const rank = a.shape().size();
    std::int64_t strides[max_rank];
    for (std::size_t i = 0; i < rank && i < max_rank; ++i) {
      strides[i] = a.steps()[i] / nd::bytes_of(a.type());
    }
    description d;
    d.data = a.data();
    d.type = exchanged(a.type());
    d.shape = dims::from(a.shape().data(), rank);
    d.strides = dims::from(strides, rank);
    d.device = device(a.where().type == nd::device::cuda ? kDLCUDA : kDLCPU, a.where().index);
    d.flags = a.writable() ? 0 : flag_read_only;
    return d;
  }
  // On any device, whereas without check the CPU must be able to access the memory.
  static report check(tensor_view const&) noexcept { return report(); }
  static nd::array adopt(managed_tensor&& m);
};

// An array on the elements of a view, without an owner.
template <>
struct dlbridge::view_traits<nd::array> {
  static nd::array view(tensor_view const& of) {
    nd::dtype const type = own(of.dtype());
    bool const on_cuda = of.device().type == kDLCUDA;
    if (!on_cuda && of.device().type != kDLCPU) {
      raise(refusal(errc::device_mismatch, "cpu or cuda", name_of(of.device()).c_str()));
    }
    nd::sizes shape(of.shape(), of.shape() + of.rank()), steps;
    for (int i = 0; i < of.rank(); ++i) {
      steps.push_back(of.stride(i) * nd::bytes_of(type));
    }
    // The CPU is one device: every ordinal names it.
    nd::device const where{on_cuda ? nd::device::cuda : nd::device::cpu,
                           on_cuda ? of.device().id : 0};
    return nd::array(nullptr, const_cast<void*>(of.data()), type, std::move(shape),
                     std::move(steps), where, !of.read_only());
  }
};

// An array that owns the tensor.
inline nd::array dlbridge::array_traits<nd::array>::adopt(managed_tensor&& m) {
  auto const v = as<nd::array>(m);
  auto owner = std::make_shared<managed_tensor>(std::move(m));
  return nd::array(std::move(owner), v.data(), v.type(), v.shape(), v.steps(), v.where(),
                   v.writable());
}
// [/traits]

// [functions]
DLManagedTensorVersioned* nd::after::to_dlpack(array a) {
  return dlbridge::build(std::move(a)).release_versioned();
}

nd::array nd::after::from_dlpack(DLManagedTensorVersioned* tensor) {
  return dlbridge::adopt_as<array>(dlbridge::managed_tensor::steal(tensor));
}

nd::array nd::after::from_dlpack(DLManagedTensor* tensor) {
  return dlbridge::adopt_as<array>(dlbridge::managed_tensor::steal(tensor));
}
// [/functions]
