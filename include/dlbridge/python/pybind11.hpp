// dlbridge for pybind11: casters for every tensor type, init, def, def_fast and def_dlpack. No
// protocol logic.
// floor 18 · IN and OUT: what an extension author writes
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/fast.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/overloads.hpp>
#include <dlbridge/python/parameter.hpp>
#include <dlbridge/python/refusals.hpp>
#include <dlbridge/python/results.hpp>
#include <dlbridge/python/signature.hpp>
#include <dlbridge/tensor.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// An extra of def: what the function returns is of this library, whatever it was given.
struct returns {
  library which;
};

/// A view on memory that belongs to the object a method is called on, or to the first argument of a
/// function: what it is returned as keeps that object alive.
class part {
 public:
  explicit part(tensor_view const& view) : memory_(describe_view(view)) {}
  explicit part(description memory) : memory_(std::move(memory)) {}
  template <class T, class Shape, class... Constraints>
  explicit part(tensor_span<T, Shape, Constraints...> const& span) : part(marked<T>(span.view())) {}
  description const& memory() const noexcept { return memory_; }

 private:
  template <class T>
  static tensor_view marked(tensor_view const& view) noexcept {
    return std::is_const_v<T> ? view.with_flags(view.flags() | flag_read_only) : view;
  }
  description memory_;
};

namespace python {
namespace detail {
namespace py = pybind11;

[[noreturn]] inline void throw_pending() { throw py::error_already_set(); }

inline py::object checked(ref made) {
  if (!made) {
    throw_pending();
  }
  return py::reinterpret_steal<py::object>(made.release());
}

// pybind11's own exceptions and translators, after ours.
struct pybind11_translator {
  static void translate() noexcept {
    try {
      throw;
    } catch (py::error_already_set& e) {
      e.restore();
    } catch (py::builtin_exception const& e) {
      e.set_error();
    } catch (...) {
      plain_translator::translate();
    }
  }
};

// Characters as pybind11 wants them in a signature.
template <class P, std::size_t... I>
constexpr auto described(std::index_sequence<I...>) {
  constexpr literal_text text = annotation_of<P>();
  return py::detail::descr<sizeof...(I)>(text.data[I]...);
}
template <class P>
constexpr auto description_of() {
  return described<P>(std::make_index_sequence<annotation_of<P>().size>());
}

// What load keeps and the cast takes, for all parameters alike.
template <class P>
class tensor_caster {
 public:
  // What py::detail::io_name gives: one spelling for parameters, another for results.
  static constexpr auto name =
      py::detail::const_name("@") + description_of<P>() + py::detail::const_name("@typing.Any@");

  bool load(py::handle source, bool) noexcept {
    loaded_ = tensor_argument<P>();
    bool const fits = loaded_.load(source.ptr());
    ref& raised = loaded_.raised();
    if (raised && PyErr_GivenExceptionMatches(raised.get(), PyExc_Exception) == 0) {
      set_exception(std::move(raised));  // pybind11 sees it when the call comes back
    }
    return fits;
  }

  template <class>
  using cast_op_type = P;
  operator P() { return loaded_.take(); }

  static py::handle cast(P&& result, py::return_value_policy, py::handle) {
    if constexpr (is_result<P>) {
      return checked(give_result(std::move(result), nullptr, nullptr)).release();
    } else {
      static_assert(is_result<P>,
                    "dlbridge: a tensor_span that is returned would outlive what it looks at. "
                    "Return an owning tensor (managed_tensor, tensor, argument), or dlbridge::part "
                    "from a method, which keeps the object alive");
      return {};
    }
  }
  template <class Lvalue>
  static py::handle cast(Lvalue const&, py::return_value_policy, py::handle) {
    static_assert(sizeof(Lvalue) == 0,
                  "dlbridge: a tensor is returned by value, moved out. To show the memory of a "
                  "class, give the class __dlpack__ by dlbridge::def_dlpack, or return a "
                  "dlbridge::part");
    return {};
  }

 private:
  tensor_argument<P> loaded_;
};

// What def gives pybind11 in place of a tensor parameter: everything loads, and is looked at in
// the body, where refusals can say more.
template <class P>
struct deferred {
  PyObject* object = nullptr;
};
// The same for a tensor result, already an object.
template <class R>
struct settled {
  py::object object;
};

template <class A>
using passed =
    std::conditional_t<is_tensor_parameter<std::decay_t<A>>, deferred<std::decay_t<A>>, A>;
template <class R>
using returned = std::conditional_t<is_result<std::decay_t<R>>, settled<std::decay_t<R>>, R>;

// Extras of def that are not pybind11's, or that def has to apply itself.
template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<py::call_guard<Guards...>> = true;

struct releases_gil {
  template <class Guard>
  static constexpr bool in = std::is_same_v<Guard, py::gil_scoped_release>;
};
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<py::call_guard<Guards...>> = (releases_gil::in<Guards> || ...);

template <class Extra>
void note_extra(call_facts& facts, Extra const& extra) {
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    facts.parameters.emplace_back(extra.name != nullptr ? extra.name : "");
  } else if constexpr (std::is_same_v<Extra, returns>) {
    facts.home = extra.which;
    facts.has_home = true;
  }
}

template <class F, class Guard, class Signature>
class bound;

// One overload: imports its tensors, checks them all, calls, and sends the result home.
template <class F, class Guard, class Result, class... Parameters>
class bound<F, Guard, Result(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);

 public:
  bound(F function, std::shared_ptr<call_facts const> facts)
      : function_(std::move(function)), facts_(std::move(facts)) {}

  returned<Result> operator()(passed<Parameters>... given) {
    return run(std::index_sequence_for<Parameters...>(), given...);
  }

 private:
  template <class A>
  struct number {  // stands in for what is no tensor
    bool load(PyObject*) const noexcept { return true; }
  };
  template <class A>
  using slot = std::conditional_t<is_tensor_parameter<std::decay_t<A>>,
                                  tensor_argument<std::decay_t<A>>, number<A>>;
  using slots = std::tuple<slot<Parameters>...>;

  template <class T>
  static PyObject* object_of(T const&) noexcept {
    return nullptr;
  }
  template <class P>
  static PyObject* object_of(deferred<P> const& given) noexcept {
    return given.object;
  }

  template <class A, class Given>
  static decltype(auto) passed_on(slot<A>& loaded, Given& given) {
    if constexpr (is_tensor_parameter<std::decay_t<A>>) {
      return loaded.take();
    } else {
      return std::forward<A>(given);
    }
  }

  template <std::size_t... I, class... Given>
  returned<Result> run(std::index_sequence<I...>, Given&... given) {
    overload_call* const set = facts_->overloaded ? overload_call::enter(*facts_) : nullptr;
    PyObject* const objects[count + 1] = {object_of(given)...};
    slots loaded;
    bool fits = true;
    if (set == nullptr) {
      fits = (static_cast<unsigned>(std::get<I>(loaded).load(objects[I])) & ... & 1U) != 0;
    } else {
      set->begin();
      fits = (static_cast<unsigned>(load_shared(*set, std::get<I>(loaded), objects[I])) & ... &
              1U) != 0;
    }
    if (!fits) {
      refuse(set, loaded, std::index_sequence<I...>());
    }
    if (set != nullptr) {
      set->accept();
    }
    if constexpr (is_result<std::decay_t<Result>>) {
      std::decay_t<Result> made =
          guarded_call(passed_on<Parameters>(std::get<I>(loaded), given)...);
      PyObject* const like = first_tensor<std::decay_t<Parameters>...>(objects);
      return {
          checked(give_result(std::move(made), like, facts_->has_home ? &facts_->home : nullptr))};
    } else {
      return guarded_call(passed_on<Parameters>(std::get<I>(loaded), given)...);
    }
  }

  template <class... Passed>
  Result guarded_call(Passed&&... values) {
    try {
      [[maybe_unused]] Guard const guard{};
      return function_(std::forward<Passed>(values)...);
    } catch (python_error const&) {
      throw_pending();
    }
  }

  template <class A>
  static bool load_shared(overload_call&, number<A>&, PyObject*) noexcept {
    return true;
  }
  template <class P>
  static bool load_shared(overload_call& set, tensor_argument<P>& loaded,
                          PyObject* object) noexcept {
    return set.load(loaded, object);
  }

  template <class A>
  static void ask(refusals&, number<A>&, char const*, int) noexcept {}
  template <class P>
  static void ask(refusals& why, tensor_argument<P>& loaded, char const* name, int at) noexcept {
    why.ask(loaded, name, at);
  }

  template <std::size_t... I>
  [[noreturn]] DLBRIDGE_COLD void refuse(overload_call* set, slots& loaded,
                                         std::index_sequence<I...>) {
    refusals why;
    (ask(why, std::get<I>(loaded), facts_->parameter(I, count), static_cast<int>(I) + 1), ...);
    if (set != nullptr) {
      set->refuse(std::move(why));
    } else {
      why.set_error(facts_->name.c_str());
    }
    throw_pending();
  }

  F function_;
  std::shared_ptr<call_facts const> facts_;
};

// What is pybind11's own among the extras.
template <class Extra>
auto kept_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || std::is_same_v<Extra, returns>) {
    return std::tuple<>();
  } else {
    return std::tuple<Extra const&>(extra);
  }
}

template <class F>
F as_function(F function) {
  return function;
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...)) {
  return [member](Class& self, Parameters... given) -> Result {
    return (self.*member)(std::forward<Parameters>(given)...);
  };
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const) {
  return [member](Class const& self, Parameters... given) -> Result {
    return (self.*member)(std::forward<Parameters>(given)...);
  };
}

template <class Signature>
constexpr bool takes_spans = false;
template <class Result, class... Parameters>
constexpr bool takes_spans<Result(Parameters...)> =
    (parameter<std::decay_t<Parameters>>::borrows || ...);
template <class Signature>
constexpr bool returns_span = false;
template <class Result, class... Parameters>
constexpr bool returns_span<Result(Parameters...)> = parameter<std::decay_t<Result>>::borrows;

// Puts a function into its module or class: by itself, or as one more candidate of its name.
inline void place(py::object const& scope, char const* name, py::object function,
                  std::shared_ptr<call_facts> facts) {
  static char const* const table_name = "__dlbridge_functions__";
  bool const is_method = PyType_Check(scope.ptr()) != 0;
  auto const put = [&](py::object const& what) {
    scope.attr(name) =
        is_method ? py::reinterpret_steal<py::object>(PyInstanceMethod_New(what.ptr())) : what;
  };
  py::dict known = py::getattr(scope, "__dict__");
  if (!known.contains(name)) {
    auto* const kept = new std::shared_ptr<call_facts>(std::move(facts));
    py::capsule const note(kept,
                           [](void* p) { delete static_cast<std::shared_ptr<call_facts>*>(p); });
    py::dict table = known.contains(table_name) ? py::dict(known[table_name]) : py::dict();
    table[name] = py::make_tuple(function, note);
    py::setattr(scope, table_name, table);
    put(function);
    return;
  }
  py::dict table = known.contains(table_name) ? py::dict(known[table_name]) : py::dict();
  if (!table.contains(name)) {
    throw py::type_error(std::string(name) +
                         " is there already, and was not made by dlbridge::def; an overload can "
                         "only be added to one that was");
  }
  py::tuple const first = table[name];
  overload_set* set = overload_set::of(first[0].ptr());
  if (set == nullptr) {
    py::object const module_name = py::getattr(scope, is_method ? "__module__" : "__name__");
    py::object made = checked(overload_set::make(name, module_name.ptr()));
    set = overload_set::of(made.ptr());
    auto* const earlier =
        py::reinterpret_borrow<py::capsule>(first[1]).get_pointer<std::shared_ptr<call_facts>>();
    set->add(ref::borrow(first[0].ptr()), *earlier);
    table[name] = py::make_tuple(made, first[1]);
    put(made);
  }
  set->add(ref::borrow(function.ptr()), std::move(facts));
}

// The Face (slots.hpp) of a class that pybind11 wraps, by its array_traits.
template <class T, class = void>
constexpr bool can_adopt = false;
template <class T>
constexpr bool
    can_adopt<T, std::void_t<decltype(array_traits<T>::adopt(std::declval<managed_tensor>()))>> =
        true;

template <class T>
struct class_face {
  static description describe_object(PyObject* self) {
    return dlbridge::describe(py::cast<T&>(py::handle(self)));
  }
  static managed_tensor give_as(PyObject* self, flavour kind) {
    return build_on(object_owner(ref::borrow(self)), describe_object(self), kind);
  }
  static managed_tensor give(PyObject* self) { return give_as(self, flavour::versioned); }

  static void lend(PyObject* self, DLTensor& out) {
    description const d = describe_object(self);
    if ((d.flags & flag_read_only) != 0) {
      raise(refusal(errc::read_only, "writable memory for a tensor that is lent",
                    "read-only memory", "Ask for an owning one"));
    }
    lent_dims& kept = lent_dims::next();
    dlbridge::detail::write_tensor(d, kept.shape, kept.strides, out);
    report const why = check_tensor(out);
    if (!why.ok()) {
      raise(why);
    }
    dlbridge::detail::settle_data(out);
  }

  static PyObject* take(managed_tensor& m) {
    if constexpr (can_adopt<T>) {
      return py::cast(adopt_as<T>(std::move(m))).release().ptr();
    } else {
      raise(refusal(errc::bad_argument, "a class that can adopt a tensor",
                    "one without array_traits<T>::adopt"));
    }
  }

  static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* keywords) noexcept {
    ref capsule;
    translated([&] {
      description const d = describe_object(self);
      export_request request;
      if (!read_export_request(args, count, keywords, d.device, request)) {
        return;
      }
      bool const plain = request.copy != copy_policy::always && request.target == d.device;
      if (plain) {
        capsule = wrap_capsule(
            build_on(object_owner(ref::borrow(self)), d, request.kind, request.read_only));
      } else {
        shared_tensor const shared(give(self));
        capsule = produce(shared, shared.get().view(), request);
      }
    });
    return capsule.release();
  }

  static PyObject* dlpack_device(PyObject* self, PyObject*) noexcept {
    ref pair;
    translated([&] { pair = device_pair(describe_object(self).device); });
    return pair.release();
  }

 private:
  template <class F>
  static void translated(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      pybind11_translator::translate();
    }
  }
};
}  // namespace detail
}  // namespace python

/// Prepares a module: dlbridge::error becomes the Python exception that stands for its reason, for
/// functions bound by plain pybind11 too. Call it first in PYBIND11_MODULE.
inline void init(pybind11::module_&) {
  pybind11::register_local_exception_translator([](std::exception_ptr raised) {
    try {
      std::rethrow_exception(raised);
    } catch (error const& e) {
      python::set_error(e.why());
    } catch (python::python_error const&) {
    }
  });
}

/// Binds a function whose parameters may be tensors, to a module or a class, as module_::def does:
/// with pybind11's extras (py::arg, defaults, a docstring, call_guard), and returns.
///
/// Each tensor argument is imported once; all that does not fit is said in one TypeError. Another
/// def of the same name adds an overload: they are tried in order. Tensors go back as the type of
/// the argument they were made by (argument), or of the first tensor argument, unless returns says
/// another library; without tensor arguments as dlbridge.Tensor.
/// thread and GIL: held while arguments come in and results go out; a call_guard holds for the
/// function alone, and may release it if no parameter is a tensor_span.
template <class Scope, class F, class... Extra>
Scope& def(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pd = python::detail;
  auto callee = pd::as_function(std::forward<F>(function));
  using signature = pybind11::detail::function_signature_t<decltype(callee)>;
  using guard = pybind11::detail::extract_guard_t<Extra...>;
  static_assert(!((pd::is_releasing<Extra> || ...) && pd::takes_spans<signature>),
                "dlbridge: a tensor_span is borrowed while the GIL is held, and this call releases "
                "it. Take an owning tensor or argument instead");
  static_assert(
      !pd::returns_span<signature>,
      "dlbridge: a tensor_span that is returned would outlive what it looks at. Return an "
      "owning tensor (managed_tensor, tensor, argument), or dlbridge::part from a method, "
      "which keeps the object alive");
  auto facts = std::make_shared<python::call_facts>();
  facts->name = name;
  (pd::note_extra(*facts, extra), ...);
  auto kept = std::tuple_cat(pd::kept_extra(extra)...);
  pd::bound<decltype(callee), guard, signature> body(std::move(callee), facts);
  pybind11::object made = std::apply(
      [&](auto const&... own) -> pybind11::object {
        if constexpr (std::is_base_of_v<pybind11::detail::generic_type, Scope>) {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::is_method(scope), own...);
        } else {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::scope(scope), own...);
        }
      },
      kept);
  pd::place(scope, name, std::move(made), std::move(facts));
  return scope;
}

/// python::def_fast for a pybind11 module; exceptions of pybind11's are understood too.
template <auto Function>
void def_fast(pybind11::module_& m, char const* name,
              std::initializer_list<char const*> parameters = {}, char const* doc = "") {
  python::def_fast<Function, python::detail::pybind11_translator>(m.ptr(), name, parameters, doc);
}
template <class Lambda>
void def_fast(pybind11::module_& m, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters = {}, char const* doc = "") {
  python::def_fast<Lambda, python::detail::pybind11_translator>(m.ptr(), name, std::move(lambda),
                                                                parameters, doc);
}

/// Makes a class with array_traits a DLPack producer: __dlpack__, __dlpack_device__ and the
/// exchange table. What is exported keeps the object alive; its memory must stay where it is until
/// then.
template <class T, class... Options>
void def_dlpack(pybind11::class_<T, Options...>& bound_class) {
  using face = python::detail::class_face<T>;
  static PyMethodDef methods[] = {
      {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&face::dlpack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
       "A capsule with the array's memory, which keeps the array alive."},
      {"__dlpack_device__", &face::dlpack_device, METH_NOARGS,
       "__dlpack_device__($self, /)\n--\n\nThe device of the memory, (type, id)."}};
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  for (PyMethodDef& each : methods) {
    bound_class.attr(each.ml_name) =
        python::detail::checked(python::ref::steal(PyDescr_NewMethod(type, &each)));
  }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  if (!python::add_exchange_table<face>(type)) {
    throw pybind11::error_already_set();
  }
#endif
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

namespace pybind11 {
namespace detail {
template <class T, class Shape, class... Constraints>
class type_caster<dlbridge::tensor_span<T, Shape, Constraints...>>
    : public dlbridge::python::detail::tensor_caster<
          dlbridge::tensor_span<T, Shape, Constraints...>> {};
template <class T, class Shape, class... Constraints>
class type_caster<dlbridge::tensor<T, Shape, Constraints...>>
    : public dlbridge::python::detail::tensor_caster<dlbridge::tensor<T, Shape, Constraints...>> {};
template <class T, class Shape, class... Constraints>
class type_caster<dlbridge::argument<T, Shape, Constraints...>>
    : public dlbridge::python::detail::tensor_caster<dlbridge::argument<T, Shape, Constraints...>> {
};
template <>
class type_caster<dlbridge::any_tensor>
    : public dlbridge::python::detail::tensor_caster<dlbridge::any_tensor> {};
template <>
class type_caster<dlbridge::managed_tensor>
    : public dlbridge::python::detail::tensor_caster<dlbridge::managed_tensor> {};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>> {};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::tensor<T, Shape, Constraints...>>> {};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::argument<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::argument<T, Shape, Constraints...>>> {};
template <>
class type_caster<std::optional<dlbridge::any_tensor>>
    : public dlbridge::python::detail::tensor_caster<std::optional<dlbridge::any_tensor>> {};
template <>
class type_caster<std::optional<dlbridge::managed_tensor>>
    : public dlbridge::python::detail::tensor_caster<std::optional<dlbridge::managed_tensor>> {};

template <class P>
class type_caster<dlbridge::python::detail::deferred<P>> {
 public:
  PYBIND11_TYPE_CASTER(dlbridge::python::detail::deferred<P>,
                       dlbridge::python::detail::tensor_caster<P>::name);
  bool load(handle source, bool) noexcept {
    value.object = source.ptr();
    return true;
  }
};
template <class R>
class type_caster<dlbridge::python::detail::settled<R>> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::python::detail::settled<R>&& result, return_value_policy, handle) {
    return result.object.release();
  }
};
template <>
class type_caster<dlbridge::part> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::part const& shown, return_value_policy, handle parent) {
    if (!parent) {
      throw type_error(
          "a dlbridge::part has no object to keep alive; return it from a method, or "
          "from a function of the object that it is part of");
    }
    namespace dp = dlbridge::python;
    dp::object_owner owner(dp::ref::borrow(parent.ptr()));
    return dp::detail::checked(dp::give_own(dlbridge::build_on(std::move(owner), shown.memory())))
        .release();
  }
};
}  // namespace detail
}  // namespace pybind11
