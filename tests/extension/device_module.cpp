// The modules `device_extension`, which calls use_devices, and `plain_device_extension`, which does
// not: functions that read memory on the host, and that report the stream of an argument.
#include <dlbridge/pybind11.hpp>

#include <cstddef>
#include <cstdint>

#if WITH_DEVICES
#include <dlbridge/python/devices.hpp>
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
PYBIND11_MODULE(device_extension, m) {
  dlbridge::use_devices();
#else
PYBIND11_MODULE(plain_device_extension, m) {
#endif
  using borrowed = tensor_span<std::uint8_t const, bytes_shape>;
  using owned = argument<std::uint8_t const, bytes_shape>;
  using on_device = argument<std::uint8_t const, bytes_shape, dlbridge::anywhere>;
  dlbridge::init(m);
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
  dlbridge::def(m, "stream_of", [](on_device x) {
    return reinterpret_cast<std::uintptr_t>(x.stream().native_handle());
  });
}
