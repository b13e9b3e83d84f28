// The bodies of python_function.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/explanation.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/pybind11/detail/python_function.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
DLBRIDGE_API python_function::~python_function() {
  std::free(const_cast<char*>(definition.ml_doc));
  records().remove(*this);
}

DLBRIDGE_API record_list& python_function::records() noexcept {
  static record_list all;
  return all;
}

DLBRIDGE_API function_record const* python_function::find(chain_link const* link) noexcept {
  return records().find([link](function_record const& each) {
    return static_cast<python_function const&>(each).link == link;
  });
}

// Whether pybind11's refusal of a call lists the functions of this chain: it may be that of another
// function of the name, which the body of a plain m.def called.
inline bool is_refusal_of(chain_link const* chain, PyObject* exception) noexcept {
  ref const text = binding::text_of_refusal(name_of(chain), exception);
  char const* at = text ? api<PyUnicode_AsUTF8>(text.get()) : nullptr;
  if (std::strcmp(name_of(chain), "__init__") == 0) {
    return at != nullptr;  // pybind11 writes these signatures in another form
  }
  for (; at != nullptr && chain != nullptr; chain = next_in_chain(chain)) {
    at = std::strstr(at, signature_of(chain));
  }
  return at != nullptr;
}

// Replaces the pending exception, if it is pybind11's refusal of a call, by the reasons.
inline void explain_refusal(PyObject* self, active_call& call) noexcept {
  chain_link const* const chain = first_in_chain(self);
  ref refusal = take_exception();
  if (chain != nullptr && is_refusal_of(chain, refusal.get())) {
    try {
      std::vector<binding::candidate> candidates;
      char const* display_name = name_of(chain);
      for (auto const* each = chain; each != nullptr; each = next_in_chain(each)) {
        function_record const* const record = python_function::find(each);
        display_name = record != nullptr ? record->name.c_str() : display_name;
        candidates.push_back(
            {ref::steal(api<PyUnicode_FromFormat>("%s%s", name_of(each), signature_of(each))),
             record});
      }
      if (PyErr_Occurred() == nullptr) {
        binding::raise_reasons(call, display_name, candidates);
      }
    } catch (std::bad_alloc const&) {
      api<PyErr_NoMemory>();
    }
  }
  if (PyErr_Occurred() == nullptr) {
    set_exception(std::move(refusal));
  }
}

#if PYBIND11_VERSION_HEX >= 0x03010000
using library_function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
constexpr int library_flags = METH_FASTCALL | METH_KEYWORDS;
#else
using library_function = PyObject* (*)(PyObject*, PyObject*, PyObject*);
constexpr int library_flags = METH_VARARGS | METH_KEYWORDS;
#endif

// pybind11's C function, which all its Python functions call.
inline library_function& dispatcher() noexcept {
  static library_function function = nullptr;
  return function;
}

// Calls pybind11's C function. While it binds keywords, that throws into the interpreter, which has
// no handler: for example UnicodeEncodeError for a keyword with a lone surrogate.
template <class... Arguments>
PyObject* call_dispatcher(Arguments... arguments) {
  try {
    return dispatcher()(arguments...);
  } catch (...) {
    translator::translate();
  }
  return nullptr;
}

inline bool has_overloads(PyObject* self) noexcept {
  chain_link const* const chain = first_in_chain(self);
  return chain == nullptr || next_in_chain(chain) != nullptr;
}

#if PYBIND11_VERSION_HEX >= 0x03010000
inline PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  active_call own({args, static_cast<std::size_t>(count), keywords}, has_overloads(self));
  PyObject* const result = call_dispatcher(self, args, count, keywords);
  if (result == nullptr && !own.is_decided()) {
    explain_refusal(self, own);
  }
  return result;
}
#else
// The arguments of a call by tuple and dict, as those of a vectorcall.
struct vector_arguments {
  std::vector<PyObject*> values{};
  std::size_t count = 0;
  ref names{};

  DLBRIDGE_COLD DLBRIDGE_NOINLINE vector_arguments(PyObject* args, PyObject* keywords) {
    count = static_cast<std::size_t>(PyTuple_GET_SIZE(args));
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)));
    }
    ref const keys = ref::steal(api<PyList_New>(0));
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (keys && keywords != nullptr && api<PyDict_Next>(keywords, &at, &key, &value) != 0) {
      values.push_back(value);
      if (api<PyList_Append>(keys.get(), key) != 0) {
        return;
      }
    }
    names = keys ? ref::steal(api<PyList_AsTuple>(keys.get())) : ref();
  }
};
inline PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) {
  active_call own({nullptr, 0, nullptr}, has_overloads(self));
  PyObject* const result = call_dispatcher(self, args, keywords);
  if (result == nullptr && !own.is_decided()) {
    ref pending = take_exception();
    vector_arguments const all(args, keywords);
    own.set_arguments({all.values.data(), all.count, all.names.get()});
    set_exception(std::move(pending));
    explain_refusal(self, own);
  }
  return result;
}
#endif

inline char* copy_text(char const* text) noexcept {
  std::size_t const size = text != nullptr ? std::strlen(text) + 1 : 0;
  void* const copy = size != 0 ? std::malloc(size) : nullptr;
  return copy != nullptr ? static_cast<char*>(std::memcpy(copy, text, size)) : nullptr;
}

// The C function of a Python function, without the wrapper of a method.
inline PyCFunctionObject* c_function_in(py::handle function) noexcept {
  PyObject* const plain = PyInstanceMethod_Check(function.ptr()) != 0
                              ? PyInstanceMethod_Function(function.ptr())
                              : function.ptr();
  return PyCFunction_Check(plain) != 0 ? reinterpret_cast<PyCFunctionObject*>(plain) : nullptr;
}

DLBRIDGE_API py::object make_python_function(py::object made, char const* name,
                                             python_function& record, bool is_first) {
  PyCFunctionObject* const plain = c_function_in(made);
  chain_link const* link = plain != nullptr ? first_in_chain(plain->m_self) : nullptr;
  if (link == nullptr || plain->m_ml->ml_flags != library_flags) {
    return made;
  }
  while (!is_first && next_in_chain(link) != nullptr) {
    link = next_in_chain(link);
  }
  record.link = link;
  python_function::records().add(record);
  auto const library =
      reinterpret_cast<library_function>(reinterpret_cast<void (*)()>(plain->m_ml->ml_meth));
  if (library == &call || (dispatcher() != nullptr && library != dispatcher())) {
    return made;
  }
  dispatcher() = library;
  record.attribute = name;
  record.definition = {record.attribute.c_str(),
                       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
                       library_flags, copy_text(plain->m_ml->ml_doc)};
  ref own = ref::steal(api<PyCFunction_NewEx>(&record.definition, plain->m_self, plain->m_module));
  if (own && PyInstanceMethod_Check(made.ptr()) != 0) {
    own = ref::steal(api<PyInstanceMethod_New>(own.get()));
  }
  return checked(std::move(own));
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE
