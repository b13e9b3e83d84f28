// The inline bodies of class_operations.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Option of def_dlpack for a class whose objects share the ownership of their memory. An export
/// keeps a share of the memory in place of the object: it stays valid when the object drops it.
/// @tparam Owner a function of the array, or a member of it, that gives what owns the memory, such
///   as a std::shared_ptr. Any thread may free it, without the GIL. Where it is null, an export
///   keeps the object. By default, the owner is a copy of the array, which shares its memory.
template <auto Owner = nullptr>
struct shares {};

namespace python::detail {
// Exports the memory of an object: with the object as its owner, or with what shares names.
template <class Array>
managed_tensor build_export(void const*, PyObject* self, Array&, description const& d,
                            struct_kind kind, read_only_policy policy) {
  return build_on(object_owner(ref::borrow(self)), d, kind, policy);
}

template <auto Owner, class Array>
managed_tensor build_export(shares<Owner> const*, PyObject* self, Array& array,
                            description const& d, struct_kind kind, read_only_policy policy) {
  if constexpr (std::is_same_v<decltype(Owner), std::nullptr_t>) {
    Array copy(array);
    if (dlbridge::describe(copy).data != d.data) {
      raise(refusal(errc::bad_argument, "copies of the array that share its memory",
                    "a copy with memory of its own",
                    "Name the owner in def_dlpack: dlbridge::shares<&owner>()"));
    }
    return build_on(std::move(copy), d, kind, policy);
  } else {
    auto owner = std::invoke(Owner, array);
    if constexpr (std::is_constructible_v<bool, decltype(owner)&>) {
      if (!owner) {
        return build_export(static_cast<void*>(nullptr), self, array, d, kind, policy);
      }
    }
    return build_on(std::move(owner), d, kind, policy);
  }
}

template <class Library, class T, class Options>
inline stream_ref class_operations<Library, T, Options>::ready_on(PyObject* self, device where) {
  if constexpr (dlbridge::detail::has_stream<T>) {
    return dlbridge::ready_on(Library::template get<T>(self), where);
  } else {
    return stream_ref::default_of(where);
  }
}

template <class Library, class T, class Options>
inline managed_tensor class_operations<Library, T, Options>::own(PyObject* self,
                                                                 description const& d,
                                                                 struct_kind kind,
                                                                 read_only_policy policy) {
  return build_export(static_cast<Options*>(nullptr), self, Library::template get<T>(self), d, kind,
                      policy);
}

template <class Library, class T, class Options>
inline PyObject* class_operations<Library, T, Options>::give_tensor(managed_tensor& m) {
  // If this function throws, its caller still owns m; but adopt may have freed its tensor by
  // then. adopt therefore receives a second tensor that shares the ownership of m.
  auto const original = std::make_shared<managed_tensor>(std::move(m));
  try {
    return detail::call_function([&] {
      auto owner = original;
      return make_object(build_on(std::move(owner), dlbridge::describe(*original)));
    });
  } catch (...) {
    m = std::move(*original);
    throw;
  }
}

template <class Library, class T, class Options>
inline PyObject* class_operations<Library, T, Options>::make_object(managed_tensor m) {
  if constexpr (Library::makes_objects && dlbridge::detail::can_adopt<T>) {
    return Library::template make<T>(adopt_as<T>(std::move(m)));
  } else {
    ref object = give_stated(std::move(m), false);
    if (!object) {
      throw python_error();
    }
    return object.release();
  }
}

template <class Library, class T, class Options>
inline PyObject* class_operations<Library, T, Options>::dlpack(PyObject* self,
                                                               PyObject* const* args,
                                                               Py_ssize_t count,
                                                               PyObject* keywords) noexcept {
  ref capsule;
  translated([&] {
    prepare(self);
    device const where = describe_object(self).device;
    export_request request;
    if (!read_export_request(args, count, keywords, where, request)) {
      return;
    }
    stream_ref ready = ready_on(self, where);
    bool const can_share = request.copy != copy_policy::always && request.target == where;
    if (can_share) {
      order_export(request, ready);
      capsule = wrap_capsule(build_for_consumer(
          [&] { return own(self, describe_again(self, where), request.kind, request.read_only); }));
    } else {
      if (is_served_by_host(where, request)) {
        python::host_wait(ready);
        ready = stream_ref::default_of(cpu);  // so that produce does not wait again
      }
      shared_tensor const shared(own(self, describe_again(self, where)));
      capsule = produce(shared, shared.get().view(), ready, request);
    }
  });
  return capsule.release();
}

template <class Library, class T, class Options>
inline PyObject* class_operations<Library, T, Options>::dlpack_device(PyObject* self,
                                                                      PyObject*) noexcept {
  ref pair;
  translated([&] { pair = device_pair(describe_object(self).device); });
  return pair.release();
}

template <class Library, class T, class Options>
inline description class_operations<Library, T, Options>::describe_for_table(PyObject* self) {
  prepare(self);
  if constexpr (dlbridge::detail::has_stream<T>) {
    device const where = describe_object(self).device;
    python::order_after(stream_ref::default_of(where), ready_on(self, where));
    return describe_again(self, where);
  } else {
    return describe_object(self);
  }
}

template <class Library, class T, class Options>
inline description class_operations<Library, T, Options>::describe_again(PyObject* self,
                                                                         device where) {
  description d = describe_object(self);
  if (d.device != where) {
    raise(refusal(errc::device_mismatch, name_of(where).c_str(), name_of(d.device).c_str(),
                  "The array has moved; export it again"));
  }
  return d;
}

template <class Library, class T, class Options>
template <class F>
inline void class_operations<Library, T, Options>::translated(F&& f) noexcept {
  try {
    detail::call_function(f);
  } catch (...) {
    Library::translate();
  }
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
