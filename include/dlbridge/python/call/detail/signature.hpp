// signature_of: writes the Python signature of a C++ function of tensors and numbers, with
// annotations that state the requirements.
// layer: call · from C++ parameter types to annotations that type checkers read
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <dlbridge/check.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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
  text.append("typing.Annotated[dlbridge.typing.SupportsDLPack, \"");
  append_requirement(text, parameter<P>::required(), true).append("\"]");
  return parameter<P>::optional ? text.append(" | None") : text;
}

namespace detail {
template <class P>
std::string parameter_annotation() {
  if constexpr (is_tensor_parameter<P>) {
    constexpr literal_text text = annotation_of<P>();
    return std::string(text.data, text.size);
  } else {
    return scalar<P>::name;
  }
}

// The type of a tensor result depends on the types of the arguments: its annotation is Any.
template <class R>
std::string result_annotation() {
  if constexpr (std::is_void_v<R>) {
    return "None";
  } else if constexpr (is_scalar<R>) {
    return scalar<R>::name;
  } else {
    return "typing.Any";
  }
}
}  // namespace detail

/// @return the first line of a docstring, "name(x: ..., y: float) -> typing.Any"
template <class Result, class... Parameters>
std::string signature_of(std::string const& name, std::vector<std::string> const& names) {
  std::string text = name + "(";
  std::size_t i = 0;
  ((text += (i == 0 ? "" : ", ") + names[i] + ": " +
            detail::parameter_annotation<std::decay_t<Parameters>>(),
    ++i),
   ...);
  return text + ") -> " + detail::result_annotation<std::decay_t<Result>>();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
