// gap_check, ask_gaps: state what the exchange table of a library exports although its __dlpack__
// refuses it, and ask an object for it.
// layer: import · what an exchange table does not report
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
/// One question to an object of a library: a property, or a method without arguments.
struct gap_question {
  PyObject* names::* attribute = nullptr;
  bool is_method = false;
  bool usual = false;  ///< the answer with which the table exports the tensor as __dlpack__ does
  /// The refusal of the other answer, where __dlpack__ too would export a wrong tensor. Null where
  /// __dlpack__ refuses the tensor itself.
  char const* expected = nullptr;
  char const* got = nullptr;
  char const* advice = nullptr;
};

/// The questions to the objects of one type. Those with a refusal come first: the others are for
/// the table alone.
struct gap_row {
  char const* module;
  char const* type;
  gap_question questions[2];
};

DLBRIDGE_LOCAL inline constexpr gap_row gap_rows[] = {
    {"torch",
     "Tensor",
     {{&names::is_neg, true, false, "a tensor whose memory holds its values",
       "a PyTorch tensor that is negated lazily, whose memory has the opposite sign",
       "Call its resolve_neg() first"},
      {&names::requires_grad, false, false}}},
    {"paddle", "Tensor", {{&names::is_sparse, true, false}, {&names::stop_gradient, false, true}}},
};

// Whether a class has this name in this module.
inline bool is_named(PyTypeObject* type, char const* module, char const* name) noexcept {
  char const* const dotted = type->tp_name;  // with the module where the type is static
  char const* const dot = std::strrchr(dotted, '.');
  if (std::strcmp(dot != nullptr ? dot + 1 : dotted, name) != 0) {
    return false;
  }
  ref const stored = type_attribute(type, names::get().module);
  if (stored && PyUnicode_Check(stored.get())) {
    return PyUnicode_CompareWithASCIIString(stored.get(), module) == 0;
  }
  std::size_t const length = std::strlen(module);
  return std::strncmp(dotted, module, length) == 0 && dotted + length == dot;
}

// Whether one of the classes that classes_of returned has this name in this module. No Python code
// runs.
DLBRIDGE_COLD inline bool has_class(ref const& classes, char const* module,
                                    char const* name) noexcept {
  for (Py_ssize_t i = 0; classes && i < PyTuple_GET_SIZE(classes.get()); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes.get(), i));
    if (is_named(base, module, name)) {
      return true;
    }
  }
  return false;
}

// How a type answers a question: by the C function of its descriptor, or, where both are null, by
// an attribute that is looked up. A lookup of the attributes of a tensor costs more than its
// export.
struct answer_function {
  PyCFunction method = nullptr;
  getter property = nullptr;
  void* closure = nullptr;
};

/// The questions to the objects of one type, and how the type answers them. The functions belong to
/// the module that defines the type, and outlive a change of the type.
struct gap_check {
  gap_row const* row = nullptr;
  answer_function functions[2];

  explicit operator bool() const noexcept { return row != nullptr; }
};

// The C function by which the objects of a type answer a question. None for a type with a lookup of
// its own, for an attribute that Python code defines, and for a descriptor of another type: only a
// call of the descriptor itself checks the type of the object.
DLBRIDGE_COLD inline answer_function find_answer(PyTypeObject* type,
                                                 gap_question const& question) noexcept {
  answer_function answer;
  ref const attribute = type_attribute(type, names::get().*question.attribute);
  if (!attribute || type->tp_getattro != &PyObject_GenericGetAttr) {
    return answer;
  }
  auto const serves = [&](PyTypeObject* kind) {
    return Py_TYPE(attribute.get()) == kind &&
           api<PyType_IsSubtype>(
               type, reinterpret_cast<PyDescrObject const*>(attribute.get())->d_type) != 0;
  };
  if (question.is_method && serves(&PyMethodDescr_Type)) {
    PyMethodDef const& method = *reinterpret_cast<PyMethodDescrObject*>(attribute.get())->d_method;
    answer.method = method.ml_flags == METH_NOARGS ? method.ml_meth : nullptr;
  } else if (!question.is_method && serves(&PyGetSetDescr_Type)) {
    PyGetSetDef const& property =
        *reinterpret_cast<PyGetSetDescrObject*>(attribute.get())->d_getset;
    answer.property = property.get;
    answer.closure = property.closure;
  }
  return answer;
}

/// The questions to the objects of a type: those of the type itself, or of a class from which it is
/// derived. Empty for most types. No Python code runs.
/// @param classes of the type, as classes_of returned them.
DLBRIDGE_COLD inline gap_check find_gaps(PyTypeObject* type, ref const& classes) noexcept {
  gap_check found;
  for (gap_row const& row : gap_rows) {
    if (has_class(classes, row.module, row.type)) {
      found = {&row, {find_answer(type, row.questions[0]), find_answer(type, row.questions[1])}};
    }
  }
  return found;
}

/// For which import an object is asked: by the table, all questions; by `__dlpack__`, those with a
/// refusal.
enum class asked_for { table, protocol };

/// How to import an object after the questions.
enum class gap_answer {
  table,     ///< by the table, which exports what __dlpack__ would
  protocol,  ///< by __dlpack__
  failed     ///< not at all: an exception is set
};

// Asks one question. Returns the answer, or an empty reference with an exception set.
inline ref ask(PyObject* object, gap_question const& question, answer_function const& by) noexcept {
  if (by.property != nullptr || by.method != nullptr) {
    return ref::steal(dlbridge::detail::call_guarded([&] {
      return by.property != nullptr ? by.property(object, by.closure) : by.method(object, nullptr);
    }));
  }
  PyObject* const name = names::get().*question.attribute;
  return ref::steal(question.is_method ? api<PyObject_CallMethodNoArgs>(object, name)
                                       : api<PyObject_GetAttr>(object, name));
}

/// Asks an object the questions of its type.
/// @param gaps of the present type of the object; a copy, as an answer may run Python code, which
///   may replace the entry of the cache.
/// @return failed for an answer that is refused, with BufferError set, and for an exception that is
///   not forgivable; protocol for another exception, as __dlpack__ states the reason.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
inline gap_answer ask_gaps(gap_check const gaps, PyObject* object, asked_for purpose) noexcept {
  for (int i = 0; i < 2; ++i) {
    gap_question const& each = gaps.row->questions[i];
    if (purpose == asked_for::protocol && each.expected == nullptr) {
      continue;
    }
    ref const answer = ask(object, each, gaps.functions[i]);
    if (!answer) {
      return forgive_exception() ? gap_answer::protocol : gap_answer::failed;
    }
    if (answer.get() != (each.usual ? Py_True : Py_False)) {
      if (each.expected == nullptr) {
        return gap_answer::protocol;
      }
      set_error(refusal(errc::producer_failed, each.expected, each.got, each.advice));
      return gap_answer::failed;
    }
  }
  return purpose == asked_for::table ? gap_answer::table : gap_answer::protocol;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
