// SPDX-License-Identifier: BSD-3-Clause
// The modules `device_extension`, which calls use_devices, and `plain_device_extension`, which does
// not: functions that read memory on the host, and that report the stream of an argument. The first
// also has a class whose arrays move.
#include <dlbridge/pybind11.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#if WITH_DEVICES
#include <dlbridge/python/devices.hpp>
#include <dlbridge/runtime.hpp>
#endif

namespace py = pybind11;

namespace {

using dlbridge::argument;
using dlbridge::dynamic_extent;
using dlbridge::tensor_span;
using bytes_shape = dlbridge::shape<dynamic_extent>;

template <class Tensor>
py::bytes read(Tensor const& x) {
  return py::bytes(reinterpret_cast<char const*>(x.data()), static_cast<std::size_t>(x.extent(0)));
}

}  // namespace

#if WITH_DEVICES
namespace {

// An array whose library works on a stream, and may move the elements to other memory.
struct moving_array {
  std::uintptr_t address = 0;
  std::uintptr_t stream = 0;
  dlbridge::device where{};
};

}  // namespace

template <>
struct dlbridge::array_traits<moving_array> {
  static description describe(moving_array& a) noexcept {
    description d = description::of(reinterpret_cast<std::uint8_t*>(a.address), {4});
    d.device = a.where;
    return d;
  }
  static stream_ref stream(moving_array& a) noexcept {
    bool const is_rocm = runtime_of_memory(a.where) == runtime_kind::hip;
    return stream_ref(device(is_rocm ? kDLROCM : kDLCUDA, 0), reinterpret_cast<void*>(a.stream));
  }
};

namespace {

// The device operations of dlbridge, followed by a call of Python code: that of another thread may
// run there, as dlbridge releases the GIL.
PyObject* meanwhile = nullptr;
dlbridge::python::device_operations original;

dlbridge::report call_meanwhile(dlbridge::report const& result) {
  py::gil_scoped_acquire const gil;
  if (meanwhile != nullptr) {
    py::reinterpret_steal<py::object>(std::exchange(meanwhile, nullptr))();
  }
  return result;
}

void add_moving_array(py::module_& m) {
  dlbridge::python::device_operations& operations = dlbridge::python::device_operations::get();
  original = operations;
  operations.order_after = [](dlbridge::stream_ref consumer, dlbridge::stream_ref producer) {
    return call_meanwhile(original.order_after(consumer, producer));
  };
  operations.host_wait = [](dlbridge::stream_ref stream) {
    return call_meanwhile(original.host_wait(stream));
  };
  m.def("call_meanwhile", [](py::object f) { meanwhile = f.release().ptr(); });
  py::class_<moving_array> bound(m, "MovingArray");
  bound.def(py::init([](std::uintptr_t address, std::uintptr_t stream, int device_type) {
    return moving_array{address, stream, dlbridge::device(device_type, 0)};
  }));
  bound.def("move", [](moving_array& a, std::uintptr_t address, int device_id) {
    a.address = address;
    a.where.id = device_id;
  });
  dlbridge::def_dlpack(bound);
}

// In place of a function of a .cu file that launches a kernel: copies the numbers on the stream.
using cudaStream_t = struct CUstream_st*;
void launch(float const* from, float* to, std::int64_t count, cudaStream_t stream) {
  dlbridge::device const gpu(kDLCUDA, 0);
  DLTensor source{};
  source.data = const_cast<float*>(from);
  source.device = gpu.abi();
  source.ndim = 1;
  source.dtype = dlbridge::dtype_of<float>().abi();
  source.shape = &count;
  DLTensor destination = source;
  destination.data = to;
  dlbridge::transfer_into(dlbridge::tensor_view(source), dlbridge::tensor_view(destination),
                          dlbridge::stream_ref(gpu, stream), true);
}

// [gpu]
template <class T>
using gpu_vector = dlbridge::argument<T, dlbridge::shape<dlbridge::named<'n'>>, dlbridge::row_major,
                                      dlbridge::on_cuda>;

auto filtered(gpu_vector<float const> const& x) {  // an array of CuPy or PyTorch on a GPU
  auto out = x.empty_like();                       // of the same library, on the same GPU
  auto const stream = static_cast<cudaStream_t>(x.stream().native_handle());
  launch(x.data(), out.data(), x.count(), stream);  // enqueues a kernel
  return out;                                       // without waiting for it
}
// [/gpu]

// [gpu_out]
auto filtered_into(gpu_vector<float const> const& x, gpu_vector<float> out) {
  dlbridge::stream_ref const stream = x.stream();
  dlbridge::order_after(stream, out.stream());  // does nothing if it is the same stream
  launch(x.data(), out.data(), x.count(), static_cast<cudaStream_t>(stream.native_handle()));
  dlbridge::order_after(out.stream(), stream);
  return out;  // the object that the caller passed
}
// [/gpu_out]

}  // namespace
#endif

#if WITH_DEVICES
PYBIND11_MODULE(device_extension, m) {
  dlbridge::use_devices();
#else
PYBIND11_MODULE(plain_device_extension, m) {
#endif
  using borrowed = tensor_span<std::uint8_t const, bytes_shape>;
  using owned = argument<std::uint8_t const, bytes_shape>;
  using on_device = argument<std::uint8_t const, bytes_shape, dlbridge::anywhere>;
  using borrowed_on_device = tensor_span<std::uint8_t const, bytes_shape, dlbridge::anywhere>;
  dlbridge::init(m);
#if WITH_DEVICES
  add_moving_array(m);
  // [gpu_bind]
  dlbridge::def(m, "filtered", filtered, py::arg("x"));
  // [/gpu_bind]
  dlbridge::def(m, "filtered_into", filtered_into, py::arg("x"), py::arg("out"));
#endif
  m.def("cast_host", [](borrowed x) { return read(x); });
  dlbridge::def(m, "read_host", [](borrowed x) { return read(x); });
  dlbridge::def(m, "own_host", [](owned x) { return read(x); });
  dlbridge::def(m, "write_host", [](tensor_span<std::uint8_t, bytes_shape> x) { x(0) = 9; });
  dlbridge::def(m, "overloaded", [](owned x) { return read(x); });
  dlbridge::def(m, "overloaded", [](argument<float const, bytes_shape>) { return py::bytes(); });
  dlbridge::def(m, "stream_by_overload", [](argument<float const, bytes_shape>) { return 0; });
  dlbridge::def(m, "stream_by_overload", [](on_device x) {
    return reinterpret_cast<std::uintptr_t>(x.stream().native_handle());
  });
  dlbridge::def(m, "address_of",
                [](borrowed_on_device x) { return reinterpret_cast<std::uintptr_t>(x.data()); });
  dlbridge::def(m, "like", [](on_device x) { return x.empty_like<std::uint8_t>(); });
  dlbridge::def(m, "into", [](on_device, borrowed_on_device out) {
    return reinterpret_cast<std::uintptr_t>(out.data());
  });
  dlbridge::def(m, "stream_of", [](on_device x) {
    return reinterpret_cast<std::uintptr_t>(x.stream().native_handle());
  });
}
