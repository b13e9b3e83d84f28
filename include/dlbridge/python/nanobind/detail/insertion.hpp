// bind: passes a C++ function with its extras to nanobind, and records it.
// layer: bindings · from a C++ function to a Python function, when a module is initialized
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/binding/bound_call.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bound_function.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/containers.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/detail/refused_call.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace on_nanobind {

// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class... Extra>
struct guard_of {
  struct type {};
};
template <class... Guards, class... Others>
struct guard_of<nb::call_guard<Guards...>, Others...> {
  using type = typename nb::call_guard<Guards...>::type;
};
template <class Other, class... Others>
struct guard_of<Other, Others...> : guard_of<Others...> {};

template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<nb::call_guard<Guards...>> = true;
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<nb::call_guard<Guards...>> =
    (std::is_same_v<Guards, nb::gil_scoped_release> || ...);

// Whether an extra is an nb::arg, and whether that has a default value.
template <class Extra, class = void>
constexpr bool is_argument = false;
template <class Extra>
constexpr bool is_argument<Extra, std::void_t<decltype(std::declval<Extra const&>().name_)>> = true;
template <class Extra, class = void>
constexpr bool has_default = false;
template <class Extra>
constexpr bool has_default<Extra, std::void_t<decltype(std::declval<Extra const&>().name_),
                                              decltype(std::declval<Extra const&>().value.ptr())>> =
    true;

// An extra as nanobind receives it, which passes over nullptr.
template <class Extra>
decltype(auto) nanobind_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || detail::is_own_extra<Extra>()) {
    return nullptr;
  } else {
    return (extra);
  }
}

// Whether nanobind's caster of A accepts an object.
template <class A>
DLBRIDGE_COLD void check_converted(refusals& reasons, overload_call&,
                                   refused_argument const& argument) {
  nb::detail::make_caster<A> caster;
  owned_objects made;
  auto const flags = argument.converts ? nb::detail::cast_flags::convert : nb::detail::cast_flags{};
  bool const fits =
      caster.from_python(argument.object, flags, &made) && caster.template can_cast<A>();
  if (!fits) {
    if (!set_not_initialized(argument.object)) {
      detail::set_mismatch_of<std::decay_t<A>>(argument.expected, argument.object,
                                               nanobind_headers);
    }
    reasons.add(argument.name, argument.position, take_exception());
  }
}
// The same for the object of a method, whose annotation is "self".
template <class A>
DLBRIDGE_COLD void check_self(refusals& reasons, overload_call& imports,
                              refused_argument const& argument) {
  ref const expected = name_of_class<A>();
  refused_argument self = argument;
  self.expected = expected.get();
  check_converted<A>(reasons, imports, self);
}
template <class P>
DLBRIDGE_COLD void check_tensor(refusals& reasons, overload_call& imports,
                                refused_argument const& argument) {
  tensor_argument<P> tensor;
  if (!imports.load(tensor, argument.object)) {
    reasons.add_if_refused(tensor, argument.name, argument.position);
  }
}

template <class P>
DLBRIDGE_COLD void check_container(refusals& reasons, overload_call& imports,
                                   refused_argument const& argument) {
  container_argument<P, nanobind_elements> container;
  if (container.load(argument.object, imports.iterators()) == load_result::refused) {
    reasons.add_if_refused(container.refusal(), argument.name, argument.position);
  }
}

template <class A>
constexpr argument_check check_of() noexcept {
  using plain = nb::detail::intrinsic_t<A>;
  if constexpr (is_tensor_parameter<std::decay_t<A>>) {
    return &check_tensor<std::decay_t<A>>;
  } else if constexpr (binding::is_container_parameter<nanobind_calls, A>) {
    return &check_container<std::decay_t<A>>;
  } else if constexpr (std::is_same_v<plain, nb::args> || std::is_same_v<plain, nb::kwargs>) {
    return nullptr;
  } else {
    return &check_converted<A>;
  }
}

template <class First = nb::handle, class...>
constexpr argument_check self_check() noexcept {
  if constexpr (refers_to_object<First>) {
    return &check_self<First>;
  } else {
    return nullptr;
  }
}

// Writes what the extras and the parameter types state into the record.
template <class Result, class... Parameters>
class record_writer {
  static constexpr std::size_t count = sizeof...(Parameters);

 public:
  template <class... Extra>
  static void write(bound_record& record, Extra const&... extra) {
    static constexpr argument_check checks[] = {check_of<Parameters>()..., nullptr};
    static constexpr bool accepts_none[] = {
        nb::detail::has_arg_defaults_v<binding::library_parameter<nanobind_calls, Parameters>>...,
        false};
    static constexpr bool is_tensor[] = {binding::is_imported<nanobind_calls, Parameters>...,
                                         false};
    static constexpr bool is_args[] = {
        std::is_same_v<nb::detail::intrinsic_t<Parameters>, nb::args>..., true};
    record.count = count;
    record.has_kwargs = (std::is_same_v<nb::detail::intrinsic_t<Parameters>, nb::kwargs> || ...);
    record.parameters = std::make_unique<parameter_facts[]>(count + 1);
    std::size_t position = 0;
    while (!is_args[position]) {
      ++position;
    }
    record.has_args = position < count;
    record.positional = position - (record.has_kwargs && !record.has_args ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      record.parameters[i] = {false, accepts_none[i], is_tensor[i], true, checks[i]};
    }
    if (record.is_method) {
      record.parameters[0] = {false, true, false, true, self_check<Parameters...>()};
    }
    constexpr std::size_t named = (std::size_t{is_argument<Extra>} + ... + 0);
    [[maybe_unused]] std::size_t next = record.is_method && named < count ? 1 : 0;
    (add(record, next, extra), ...);
  }

 private:
  template <class Extra>
  static void add(bound_record& record, std::size_t& next, Extra const& extra) {
    if constexpr (is_argument<Extra>) {
      if (!record.add_parameter(extra.name_)) {
        throw_pending();
      }
      if (next < count) {
        parameter_facts& facts = record.parameters[next++];
        bool states_none = allows_none(extra);
        if constexpr (has_default<Extra>) {
          facts.has_default = true;
          states_none |= extra.value.is_none();
        }
        if (states_none && facts.is_tensor && !facts.accepts_none) {
          detail::set_none_refused(record.name.c_str(), extra.name_);
          throw_pending();
        }
        facts.accepts_none |= states_none;
        facts.converts = converts(extra);
      }
    } else if constexpr (std::is_same_v<Extra, nb::kw_only>) {
      record.positional = record.has_args ? record.positional : next;
    } else if constexpr (std::is_same_v<Extra, nb::is_operator>) {
      record.is_operator = true;
    } else if constexpr (std::is_same_v<Extra, returns>) {
      record.result_library = extra.which;
    }
  }
  template <class Extra>
  static bool allows_none(Extra const& extra) noexcept {
#if NB_VERSION_MAJOR >= 3
    static_cast<void>(extra);
    return (nb::detail::arg_traits<Extra>::flags & nb::detail::cast_flags::accepts_none) != 0;
#else
    return extra.none_;
#endif
  }
  template <class Extra>
  static bool converts(Extra const& extra) noexcept {
#if NB_VERSION_MAJOR >= 3
    static_cast<void>(extra);
    return (nb::detail::arg_traits<Extra>::flags & nb::detail::cast_flags::convert) != 0;
#else
    return extra.convert_;
#endif
  }
};

// An attribute of a module or class, or an empty reference. Throws another exception than that of a
// missing attribute.
inline ref attribute(PyObject* scope, char const* name) {
  ref value = ref::steal(api<PyObject_GetAttrString>(scope, name));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
      throw_pending();
    }
    api<PyErr_Clear>();
  }
  return value;
}
// The number of overloads of a function of nanobind. Throws TypeError if it is none.
DLBRIDGE_COLD inline Py_ssize_t overload_count(PyObject* function, char const* name) {
  ref const signatures = ref::steal(api<PyObject_GetAttrString>(function, "__nb_signature__"));
  if (signatures && PyTuple_Check(signatures.get())) {
    return PyTuple_GET_SIZE(signatures.get());
  }
  api<PyErr_Clear>();
  if (*name != '_') {
    api<PyErr_Format>(PyExc_TypeError,
                      "%s exists already and is no function of nanobind, to which "
                      "dlbridge::def could add an overload",
                      name);
    throw_pending();
  }
  return 0;
}

// Throws TypeError if an attribute is no function of nanobind, or a method of the other kind, for
// which nanobind would end the process. Methods are descriptors.
DLBRIDGE_COLD inline void check_existing(PyObject* scope, PyObject* existing, char const* name,
                                         bool is_method) {
  if (overload_count(existing, name) != 0 &&
      (Py_TYPE(existing)->tp_descr_get != nullptr) != is_method) {
    binding::set_kind_mismatch(scope, name, !is_method);
    throw_pending();
  }
}

// Records the Python function that nanobind made.
DLBRIDGE_COLD inline void insert(PyObject* scope, char const* name, bound_record& record,
                                 bool is_first) {
  ref const function = attribute(scope, name);
  if (!function) {
    return;
  }
  record.attribute = name;
  if (!is_first) {
    record.index = overload_count(function.get(), name) - 1;
  }
  record.set_function(function.get());  // which owns the record
  explain_refusals(function.get());
}

template <class Result, class... Parameters, class... Extra>
void write_record(Result (*)(Parameters...), bound_record& record, Extra const&... extra) {
  record_writer<Result, Parameters...>::write(record, extra...);
}

// The function object that nanobind binds, and its record, which the object owns.
template <class Body>
struct made_body {
  Body body;
  bound_record& record;
};

// display_name: the name in messages
template <class Callee, class... Extra>
auto make_body(Callee callee, char const* display_name, PyObject* scope, bool is_method,
               Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::type;
  binding::check_signature<nanobind_calls, (is_releasing<Extra> || ...), signature>();
  auto owner = std::make_unique<bound_record>(display_name, scope, is_method);
  bound_record& record = *owner;
  if (!record.parameter_names || !record.scope || !python::names::prepare()) {
    throw_pending();
  }
  write_record(static_cast<signature*>(nullptr), record, extra...);
  using body = bound_function<Callee, typename guard_of<Extra...>::type, signature>;
  return made_body<body>{body(std::move(callee), std::move(owner)), record};
}

// The name of a class, by which messages call its constructor.
inline std::string name_of(nb::handle bound) {
  return nb::borrow<nb::str>(bound.attr("__name__")).c_str();
}

/// Binds a function to a module or class.
/// @tparam Self the class whose method the function is, or void
template <class Self, class Scope, class F, class... Extra>
void bind(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  ref const existing = attribute(scope.ptr(), name);
  if (existing) {
    check_existing(scope.ptr(), existing.get(), name, !std::is_void_v<Self>);
  }
  bool const is_new = std::strcmp(name, "__new__") == 0;  // messages do not count the class
  bool const is_constructor = is_new || std::strcmp(name, "__init__") == 0;
  std::string const display_name = is_constructor ? name_of(scope) : name;
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)), display_name.c_str(),
                        scope.ptr(), is_new || !std::is_void_v<Self>, extra...);
  if (is_constructor) {
    made.record.parameters[0].check = nullptr;  // nanobind accepts no object that is not ready
  }
  if constexpr (std::is_void_v<Self>) {
    nb::cpp_function_def(std::move(made.body), nb::scope(scope), nb::name(name),
                         nanobind_extra(extra)...);
  } else {
    nb::cpp_function_def<Self>(std::move(made.body), nb::scope(scope), nb::name(name),
                               nb::is_method(), nanobind_extra(extra)...);
  }
  insert(scope.ptr(), name, made.record, !existing);
}

/// Makes an accessor of a property, whose messages name it "class.property.accessor". A reference
/// that it returns refers to the object, as with nanobind's def_prop_rw. For nullptr, None.
/// @tparam Self the class
template <class Self, class F, class... Extra>
nb::object make_accessor(nb::handle bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra) {
  std::string const display_name = name_of(bound) + "." + name + accessor;
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)), display_name.c_str(),
                        bound.ptr(), true, extra...);
  nb::object accessor_function =
      nb::cpp_function<Self>(std::move(made.body), nb::name(name), nb::is_method(),
                             nb::rv_policy::reference_internal, nanobind_extra(extra)...);
  made.record.function = accessor_function.ptr();  // which owns the record
  explain_refusals(accessor_function.ptr());
  return accessor_function;
}

template <class Self, class... Extra>
nb::object make_accessor(nb::handle, char const*, char const*, std::nullptr_t, Extra const&...) {
  return nb::none();
}

template <class Self, class F, class... Extra>
nb::object make_setter(nb::handle bound, char const* name, F&& function, Extra const&... extra) {
  if constexpr ((is_argument<Extra> || ...)) {
    return make_accessor<Self>(bound, name, ".setter", std::forward<F>(function), extra...);
  } else {
    return make_accessor<Self>(bound, name, ".setter", std::forward<F>(function), nb::arg("value"),
                               extra...);
  }
}

// The docstring among the extras, or "".
template <class... Extra>
char const* doc_of(Extra const&... extra) noexcept {
  char const* doc = "";
  [[maybe_unused]] auto const look = [&](auto const& each) {
    if constexpr (std::is_convertible_v<decltype(each), char const*> &&
                  !std::is_null_pointer_v<std::decay_t<decltype(each)>>) {
      doc = each;
    }
  };
  (look(extra), ...);
  return doc;
}

DLBRIDGE_COLD inline void insert_property(nb::handle bound, char const* name, nb::handle getter,
                                          nb::handle setter, char const* doc) {
  nb::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  nb::setattr(bound, name, property(getter, setter, nb::none(), doc));
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
