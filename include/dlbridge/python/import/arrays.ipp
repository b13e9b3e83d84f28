// The bodies of arrays.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API bool has_array_method(PyObject* object) noexcept {
  names const& n = names::get();
  return type_attribute(Py_TYPE(object), n.array_method) ||
         type_attribute(Py_TYPE(object), n.array_interface);
}

DLBRIDGE_API bool has_arrow(PyObject* object) noexcept {
  names const& n = names::get();
  return type_attribute(Py_TYPE(object), n.arrow_array) ||
         type_attribute(Py_TYPE(object), n.arrow_stream);
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor from_array_method(PyObject* object) noexcept {
  names const& n = names::get();
  managed_tensor tensor;
  // __array__ first: NDArray of blosc2 has an interface of temporary memory too.
  if (type_attribute(Py_TYPE(object), n.array_method)) {
    ref const array = ref::steal(
        api<PyObject_CallMethodObjArgs>(object, n.array_method, static_cast<PyObject*>(nullptr)));
    tensor = array ? import_tensor(array.get(), import_request{}) : managed_tensor();
    if (!tensor) {
      explain_by_arrow(object);
    }
  } else if (ref const described = optional_attribute(object, n.array_interface)) {
    tensor = from_array_interface(object, described.get(), cpu);
  }
  managed_tensor marked;
  if (tensor) {
    guarded([&] {
      description d = describe(tensor);
      d.flags |= flag_read_only;
      marked = build_on(std::move(tensor), d);
    });
  }
  return marked;
}

namespace detail {
// The structs of Arrow's C data and C stream interfaces.
struct arrow_schema {
  char const* format;
  char const* name;
  char const* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  arrow_schema** children;
  arrow_schema* dictionary;
  void (*release)(arrow_schema*);
  void* private_data;
};
struct arrow_array {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  void const** buffers;
  arrow_array** children;
  arrow_array* dictionary;
  void (*release)(arrow_array*);
  void* private_data;
};
struct arrow_stream {
  int (*get_schema)(arrow_stream*, arrow_schema*);
  int (*get_next)(arrow_stream*, arrow_array*);
  char const* (*get_last_error)(arrow_stream*);
  void (*release)(arrow_stream*);
  void* private_data;
};

// Owns such a struct, which it may move, as the interfaces state. Any thread may destroy it.
template <class Struct>
struct arrow_owner {
  Struct held{};

  arrow_owner() noexcept = default;
  arrow_owner(arrow_owner&& other) noexcept : held(std::exchange(other.held, Struct{})) {}
  arrow_owner& operator=(arrow_owner&&) = delete;
  ~arrow_owner() {
    if (held.release == nullptr || !interpreter_alive()) {
      return;
    }
    gil_hold const gil;
    error_keeper const pending;
    dlbridge::detail::call_guarded([this] { held.release(&held); });
  }

  // Moves the struct out of a capsule. False with an exception set.
  bool take(PyObject* capsule, char const* name) noexcept {
    auto* const from = PyCapsule_IsValid(capsule, name) != 0
                           ? static_cast<Struct*>(api<PyCapsule_GetPointer>(capsule, name))
                           : nullptr;
    if (from == nullptr || from->release == nullptr) {
      return refuse_value(capsule, "the Arrow interface", "capsules that nobody has used",
                          errc::malformed,
                          "The producer is broken; it should follow Arrow's PyCapsule interface");
    }
    held = *from;
    from->release = nullptr;
    return true;
  }
};

// Raises a refusal, unless a look-up for its remedy raised. Returns false.
inline bool refuse_arrow(report const& why) noexcept {
  return PyErr_Occurred() == nullptr && succeeded(why);
}

// The only chunk with elements of a stream; no array if there is none. False with an exception set.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool read_stream_of_arrow(
    PyObject* object, arrow_owner<arrow_stream>& stream, arrow_owner<arrow_schema>& schema,
    arrow_owner<arrow_array>& array) noexcept {
  auto const call = [&stream](auto function, auto& out) {
    gil_release const unlocked;  // a stream may need other threads, with Python code, to go on
    return dlbridge::detail::call_guarded([&] { return function(&stream.held, &out.held); });
  };
  int code = call(stream.held.get_schema, schema);
  for (bool goes_on = true; code == 0 && goes_on;) {
    arrow_owner<arrow_array> chunk;
    code = call(stream.held.get_next, chunk);
    goes_on = chunk.held.release != nullptr;
    if (code != 0 || !goes_on || chunk.held.length == 0) {
      continue;
    }
    if (array.held.release != nullptr) {
      char const* const advice =
          optional_attribute(object, "combine_chunks") ? "Pass x.combine_chunks()"
          : optional_attribute(object, "rechunk")      ? "Pass x.rechunk()"
          : has_array_method(object)                   ? remedy_of_array_like
                                     : "Pass pyarrow.table(x)['name'].combine_chunks()";
      return refuse_arrow(
          refusal(errc::layout_mismatch, "an Arrow stream of one chunk", "several chunks", advice));
    }
    std::swap(array.held, chunk.held);
  }
  if (code != 0) {
    char const* const text = dlbridge::detail::call_guarded(
        [&stream] { return stream.held.get_last_error(&stream.held); });
    return refuse_arrow(refusal(errc::producer_failed, "an Arrow stream without errors",
                                text != nullptr ? text : "an error"));
  }
  return true;
}

// Takes the array of an object, or the chunk of its stream. False with an exception set.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool read_arrow(PyObject* object,
                                                       arrow_owner<arrow_schema>& schema,
                                                       arrow_owner<arrow_array>& array) noexcept {
  names const& n = names::get();
  bool const is_array = static_cast<bool>(type_attribute(Py_TYPE(object), n.arrow_array));
  ref const capsules = ref::steal(api<PyObject_CallMethodObjArgs>(
      object, is_array ? n.arrow_array : n.arrow_stream, static_cast<PyObject*>(nullptr)));
  if (!capsules) {
    return false;
  }
  if (!is_array) {
    arrow_owner<arrow_stream> stream;
    return stream.take(capsules.get(), "arrow_array_stream") &&
           read_stream_of_arrow(object, stream, schema, array);
  }
  bool const is_pair = PyTuple_Check(capsules.get()) && detail::tuple_size(capsules.get()) == 2;
  return schema.take(is_pair ? detail::tuple_item(capsules.get(), 0) : Py_None, "arrow_schema") &&
         array.take(detail::tuple_item(capsules.get(), 1), "arrow_array");
}

inline bool has_nulls(arrow_array const& array, std::int64_t first, std::int64_t count) noexcept {
  auto const* const valid = array.null_count != 0 && array.n_buffers > 0
                                ? static_cast<std::uint8_t const*>(array.buffers[0])
                                : nullptr;
  for (std::int64_t i = first; valid != nullptr && i < first + count; ++i) {
    if (((valid[i / 8] >> (i % 8)) & 1) == 0) {
      return true;
    }
  }
  return false;
}

// Reads the dtype of integers and floats, whose formats have one letter each.
inline bool find_arrow_dtype(arrow_schema const& schema, dtype& out) noexcept {
  constexpr char const* letters = "cCsSiIlLefg";
  char const* const format = schema.format;
  char const* const found = schema.dictionary == nullptr && format[0] != '\0' && format[1] == '\0'
                                ? std::strchr(letters, format[0])
                                : nullptr;
  return found != nullptr &&
         find_kind("iuiuiuiufff"[found - letters], "11224488248"[found - letters] - '0', out);
}

// What to pass in place of x, an object whose elements, or those of whose column, find_arrow_dtype
// refuses; null if that is not known.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline char const* remedy_for_arrow(PyObject* object,
                                                                    arrow_schema const& schema,
                                                                    bool is_column) noexcept {
  char const* const format = schema.format;
  if (std::strcmp(format, "+s") == 0) {  // rows, or a column of structs, whose class has no columns
    return optional_attribute(object, "columns")
               ? "Pass a column, as x['name']"
               : "Pass a field, as pyarrow.compute.struct_field(pyarrow.chunked_array(x), 'name')";
  }
  if (!has_array_method(object)) {  // as a relation of DuckDB
    return format[0] != 'b' ? nullptr
           : is_column      ? "Pass pyarrow.table(x)['name'].to_numpy()"
                            : "Pass pyarrow.chunked_array(x).to_numpy()";
  }
  if (schema.dictionary != nullptr || std::strchr("uUzZvw", format[0]) != nullptr) {
    return "Pass numpy.asarray(x).astype('f8') if its values are numbers, or their codes, "
           "numpy.unique(x, return_inverse=True)[1]";
  }
  switch (format[0]) {
    case '+':
      return optional_attribute(object, "explode") ? "Pass its items, x.explode()"
                                                   : "Pass its items, x.flatten()";
    case 'b':
      return remedy_of_array_like;
    case 't':
      return format[1] == 't' || format[1] == 'i'  // times of day, and intervals
                 ? nullptr
                 : "Pass its integers, numpy.asarray(x).astype('M8[ns]').astype('i8')";
    default:
      return "Pass numpy.asarray(x).astype('f8')";
  }
}

// Describes the elements of a read-only array of rank 1. False with an exception set.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool describe_arrow(PyObject* object,
                                                           arrow_schema const* schema,
                                                           arrow_array const* array,
                                                           description& d) noexcept {
  std::int64_t const count = array->length;
  std::int64_t first = array->offset;
  bool nulls = has_nulls(*array, first, count);
  bool const is_column =
      std::strcmp(schema->format, "+s") == 0 && schema->n_children == 1 && !nulls;
  if (is_column) {
    schema = schema->children[0];
    if (array->n_children == 1) {  // an empty stream has no array
      array = array->children[0];
      first += array->offset;
      nulls = has_nulls(*array, first, count);
    }
  }
  bool const is_mask = schema->format[0] == 'b';
  if (!find_arrow_dtype(*schema, d.type) && !(is_mask && nulls)) {
    report r = refusal(
        errc::dtype_mismatch, "an Arrow array of integers or floats",
        schema->dictionary != nullptr ? "one with a dictionary, of format '" : "one of format '",
        remedy_for_arrow(object, *schema, is_column));
    r.got.append(schema->format).append("'");
    return refuse_arrow(r);
  }
  if (nulls) {
    char const* const advice =
        optional_attribute(object, "fill_null") ? "Pass x.fill_null(value), with a value for nulls"
        : optional_attribute(object, "fillna")  ? "Pass x.fillna(value), with a value for nulls"
        : is_column ? "Pass pyarrow.table(x)['name'].fill_null(value), with a value for nulls"
                    : "Pass pyarrow.chunked_array(x).fill_null(value), with a value for nulls";
    return refuse_arrow(
        refusal(errc::layout_mismatch, "an Arrow array without nulls", "nulls", advice));
  }
  if (count < 0 || (count != 0 && array->n_buffers != 2)) {
    return refuse_arrow(refusal(errc::malformed, "an Arrow array of two buffers", "others",
                                "The producer is broken"));
  }
  if (count != 0) {
    auto const* const bytes = static_cast<char const*>(array->buffers[1]);
    d.data = const_cast<char*>(bytes != nullptr ? bytes + first * element_bytes(d.type) : bytes);
  }
  d.shape = dims::from(&count, 1);
  d.flags = flag_read_only;
  return true;
}

// Whether an object has one dimension, as Arrow has: an array of xarray or an image of Pillow would
// lose its others. An exception may be set if not.
inline bool has_one_dimension(PyObject* object) noexcept {
  std::int64_t rank = 1;
  ref const ndim = optional_attribute(object, "ndim");
  if (ndim && PyLong_Check(ndim.get())) {
    static_cast<void>(read_integer(ndim.get(), rank));
  }
  return PyErr_Occurred() == nullptr && rank == 1 &&
         !type_attribute(Py_TYPE(object), names::get().array_interface);
}

// Whether an object is a column of a dtype of NumPy, such as a pandas.Series: it exports NaN to
// Arrow as nulls, and its array has the values. An exception may be set if not.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool is_column_of_numpy(PyObject* object) noexcept {
  names const& n = names::get();
  ref const dtype =
      type_attribute(Py_TYPE(object), n.array_method) ? optional_attribute(object, n.dtype) : ref();
  return dtype && is_numpy_number(dtype.get());
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor from_arrow(PyObject* object) noexcept {
  managed_tensor tensor;
  if (!detail::has_one_dimension(object)) {
    detail::refuse_arrow(refusal(errc::layout_mismatch,
                                 "an object of one dimension, as Arrow has no others",
                                 "one with a shape of its own", detail::remedy_of_array_like));
    return tensor;
  }
  if (detail::is_column_of_numpy(object)) {
    return from_array_method(object);
  }
  detail::arrow_owner<detail::arrow_schema> schema;
  detail::arrow_owner<detail::arrow_array> array;
  description d;
  if (PyErr_Occurred() != nullptr) {
    return tensor;
  }
  if (!detail::read_arrow(object, schema, array)) {
    if (PyErr_ExceptionMatches(PyExc_ImportError) != 0) {  // pandas may lack pyarrow
      set_error(refusal(errc::producer_failed, "an Arrow array", "an ImportError",
                        detail::remedy_of_array_like));
    }
  } else if (detail::describe_arrow(object, &schema.held, &array.held, d)) {
    guarded([&] { tensor = build_on(std::move(array), d); });
  }
  return tensor;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void explain_by_arrow(PyObject* object) noexcept {
  ref first = take_exception();
  detail::arrow_owner<detail::arrow_schema> schema;
  detail::arrow_owner<detail::arrow_array> array;
  description d;
  bool const explains =
      is_suppressible(first.get()) && has_arrow(object) && detail::has_one_dimension(object) &&
      detail::read_arrow(object, schema, array) &&
      !detail::describe_arrow(object, &schema.held, &array.held, d) && !is_raised_by_python();
  if (explains || (PyErr_Occurred() != nullptr && !suppress_exception())) {
    set_cause(first.get());
  } else {
    set_exception(std::move(first));
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
