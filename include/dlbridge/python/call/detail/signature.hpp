// signature_of: writes the Python signature of a C++ function of tensors, numbers and containers of
// them, with annotations that state the requirements.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/requirement.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Text that is composed at compile time.
struct literal_text {
  std::size_t size = 0;
  char data[384] = {};

  constexpr literal_text& append(char const* text) noexcept {
    for (; *text != '\0' && size + 1 < sizeof data; ++text) {
      data[size++] = *text;
    }
    return *this;
  }
  constexpr literal_text& append_unsigned(std::uint64_t number) noexcept {
    if (number >= 10) {
      append_unsigned(number / 10);
    }
    char const digit[] = {static_cast<char>('0' + number % 10), '\0'};
    return append(digit);
  }
  constexpr literal_text& append(std::int64_t number) noexcept {
    return number < 0 ? append("-").append_unsigned(0 - static_cast<std::uint64_t>(number))
                      : append_unsigned(static_cast<std::uint64_t>(number));
  }
};

/// @return the annotation of a tensor parameter, Annotated[SupportsDLPack, "uint8[*, *, 3] on
/// cpu"]. Error messages state the requirement in the same form.
template <class P>
constexpr literal_text annotation_of() noexcept {
  literal_text text;
  text.append("typing.Annotated[dlbridge.typing.SupportsDLPack");
  text.append(parameter<P>::takes_buffers ? " | dlbridge.typing.Buffer" : "");
  text.append(parameter<P>::takes_numbers ? " | dlbridge.typing.Numbers, \"" : ", \"");
  append_requirement(text, parameter<P>::required(), true).append("\"]");
  return parameter<P>::optional ? text.append(" | None") : text;
}

namespace detail {
// The annotation of a parameter: of a tensor, a number or a container.
template <class P>
std::string parameter_annotation();

template <class... Elements>
std::string annotations_of(element_list<Elements...>, char const* separator) {
  std::string text;
  ((text += (text.empty() ? "" : separator) + parameter_annotation<Elements>()), ...);
  return text;
}

template <class P>
std::string parameter_annotation() {
  constexpr element_kind kind = kind_of<P>;
  if constexpr (kind == element_kind::tensor) {
    constexpr literal_text text = annotation_of<P>();
    return std::string(text.data, text.size);
  } else if constexpr (kind == element_kind::scalar) {
    return scalar<P>::name;
  } else if constexpr (kind == element_kind::text) {
    return "str";
  } else if constexpr (kind == element_kind::optional) {
    return parameter_annotation<typename P::value_type>() + " | None";
  } else if constexpr (kind == element_kind::sequence || kind == element_kind::array) {
    return "collections.abc.Iterable[" + parameter_annotation<typename P::value_type>() + "]";
  } else if constexpr (kind == element_kind::mapping) {
    return "collections.abc.Mapping[" + parameter_annotation<typename P::key_type>() + ", " +
           parameter_annotation<typename P::mapped_type>() + "]";
  } else if constexpr (kind == element_kind::tuple) {
    return "tuple[" + annotations_of(elements_of<P>(), ", ") + "]";
  } else if constexpr (kind == element_kind::variant) {
    return annotations_of(elements_of<P>(), " | ");
  } else {
    return kind == element_kind::nothing ? "None" : "typing.Any";
  }
}

// The type of a tensor result depends on the types of the arguments: its annotation is Any.
template <class R>
std::string result_annotation();

template <class... Elements>
std::string result_annotations(element_list<Elements...>, char const* separator) {
  std::string text;
  ((text += (text.empty() ? "" : separator) + result_annotation<Elements>()), ...);
  return text;
}

template <class R>
std::string result_annotation() {
  if constexpr (std::is_void_v<R>) {
    return "None";
  } else {
    constexpr element_kind kind = kind_of<R>;
    if constexpr (kind == element_kind::scalar || kind == element_kind::text ||
                  kind == element_kind::nothing) {
      return parameter_annotation<R>();
    } else if constexpr (kind == element_kind::optional) {
      return result_annotation<typename R::value_type>() + " | None";
    } else if constexpr (kind == element_kind::sequence || kind == element_kind::array) {
      return "list[" + result_annotation<typename R::value_type>() + "]";
    } else if constexpr (kind == element_kind::mapping) {
      return "dict[" + result_annotation<typename R::key_type>() + ", " +
             result_annotation<typename R::mapped_type>() + "]";
    } else if constexpr (kind == element_kind::tuple) {
      return "tuple[" + result_annotations(elements_of<R>(), ", ") + "]";
    } else if constexpr (kind == element_kind::variant) {
      return result_annotations(elements_of<R>(), " | ");
    } else {
      return "typing.Any";
    }
  }
}
}  // namespace detail

/// The functions that make the annotations of a signature, so that the text is composed by code
/// that an extension compiles once.
struct signature_annotations {
  using annotation = std::string (*)();

  annotation const* parameters;  ///< of each parameter
  std::size_t count;             ///< of the parameters
  annotation result;
};

/// The annotations of Result(Parameters...).
template <class Result, class... Parameters>
struct annotations_of_signature {
  static signature_annotations get() noexcept {
    return {all, sizeof...(Parameters), all[sizeof...(Parameters)]};
  }

 private:
  DLBRIDGE_LOCAL static constexpr signature_annotations::annotation all[] = {
      &detail::parameter_annotation<std::decay_t<Parameters>>...,
      &detail::result_annotation<std::decay_t<Result>>};
};

/// @return the first line of a docstring, "name(x: ..., y: float) -> typing.Any"
DLBRIDGE_COLD inline std::string signature_of(std::string const& name,
                                              std::vector<std::string> const& names,
                                              signature_annotations const& annotations) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < annotations.count; ++i) {
    text += (i == 0 ? "" : ", ") + names[i] + ": " + annotations.parameters[i]();
  }
  return text + ") -> " + annotations.result();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
