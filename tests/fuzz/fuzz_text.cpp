// SPDX-License-Identifier: BSD-3-Clause
// fuzz_text: parses and prints dtypes, devices, streams, versions and bounded texts, and compares
// them with the tables and rules of DLPack, written once more here.
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "input.hpp"

namespace {

struct code_name {
  char const* name;
  int bits;  // 0: any
};
constexpr code_name codes[] = {{"int", 0},
                               {"uint", 0},
                               {"float", 0},
                               {"opaque", 0},
                               {"bfloat", 0},
                               {"complex", 0},
                               {"bool", 0},
                               {"float8_e3m4", 8},
                               {"float8_e4m3", 8},
                               {"float8_e4m3b11fnuz", 8},
                               {"float8_e4m3fn", 8},
                               {"float8_e4m3fnuz", 8},
                               {"float8_e5m2", 8},
                               {"float8_e5m2fnuz", 8},
                               {"float8_e8m0fnu", 8},
                               {"float6_e2m3fn", 6},
                               {"float6_e3m2fn", 6},
                               {"float4_e2m1fn", 4},
                               {"bcomplex", 0}};
constexpr int code_count = sizeof codes / sizeof codes[0];

struct device_name {
  int type;
  char const* name;
};
constexpr device_name devices[] = {
    {1, "cpu"},           {2, "cuda"},    {3, "cuda_host"}, {4, "opencl"},     {7, "vulkan"},
    {8, "metal"},         {9, "vpi"},     {10, "rocm"},     {11, "rocm_host"}, {12, "ext_dev"},
    {13, "cuda_managed"}, {14, "oneapi"}, {15, "webgpu"},   {16, "hexagon"},   {17, "maia"},
    {18, "trn"},          {19, "tpu"},    {20, "tpu_host"}, {21, "ascend"}};

/// A text in a heap block that ends with its null.
struct exact_text {
  exact_array<char> block;
  explicit exact_text(std::string const& text) : block(make_exact<char>(text.size() + 1)) {
    std::memcpy(block.get(), text.c_str(), text.size() + 1);
  }
  char const* c_str() const { return block.get(); }
};

std::string any_text(input& in, std::size_t most) {
  std::string text;
  while (in.left() != 0 && text.size() < most) {
    text += static_cast<char>(in.bits<std::uint8_t>());
  }
  return text;
}

/// Whether the text is a number from 1 to `most` without a leading zero.
bool read_number(std::string const& text, long most, long& out) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos ||
      text[0] == '0') {
    return false;
  }
  out = std::strtol(text.c_str(), nullptr, 10);
  return out <= most;
}

/// Whether `text` is one of the names of a dtype with this code.
bool parses_as(int code, std::string const& text, dlbridge::dtype& out) {
  std::string const name = codes[code].name;
  if (text.compare(0, name.size(), name) != 0) {
    return false;
  }
  std::string rest = text.substr(name.size());
  long lanes = 1;
  if (codes[code].bits != 0 && rest.compare(0, 2, "_x") == 0) {
    rest.erase(0, 1);  // as in PyTorch's float4_e2m1fn_x2
  }
  if (std::size_t const x = rest.find('x'); x != rest.npos) {
    if (!read_number(rest.substr(x + 1), 65535, lanes)) {
      return false;
    }
    rest.resize(x);
  }
  long bits = codes[code].bits;
  if (bits == 0 && !(code == 6 && rest.empty())) {
    if (!read_number(rest, 255, bits)) {
      return false;
    }
  } else if (!rest.empty()) {
    return false;
  } else if (code == 6) {
    bits = 8;
  }
  out = dlbridge::dtype(code, static_cast<int>(bits), static_cast<int>(lanes));
  return true;
}

void check_dtype_text(std::string const& given) {
  exact_text const text{std::string(given.c_str())};  // without what follows a null
  dlbridge::dtype expected;
  int matches = 0;
  for (int code = 0; code < code_count; ++code) {
    matches += parses_as(code, text.c_str(), expected) ? 1 : 0;
  }
  expect(matches <= 1, "a name denotes one dtype");
  dlbridge::dtype const untouched(9, 9, 9);
  dlbridge::dtype parsed = untouched;
  bool const accepted = dlbridge::try_parse_dtype(text.c_str(), parsed);
  expect(accepted == (matches == 1), "try_parse_dtype");
  expect(parsed == (accepted ? expected : untouched), "the parsed dtype");
}

void check_dtype(input& in) {
  dlbridge::dtype const t(in.one_in(8) ? in.bits<std::uint8_t>() : in.between(0, code_count - 1),
                          in.one_in(2) ? 8 : in.bits<std::uint8_t>(), in.bits<std::uint16_t>());
  auto const name = dlbridge::name_of(t);
  bool const sound = t.code < code_count && t.bits != 0 && t.lanes != 0 &&
                     (codes[t.code].bits == 0 || codes[t.code].bits == t.bits);
  expect(dlbridge::is_sound(t) == sound, "is_sound");
  std::string expected;
  if (sound) {
    expected = codes[t.code].name;
    bool const bare = codes[t.code].bits != 0 || (t.code == 6 && t.bits == 8);
    expected += bare ? "" : std::to_string(t.bits);
    expected += t.lanes == 1 ? "" : "x" + std::to_string(t.lanes);
  } else {
    expected = "(code " + std::to_string(t.code) + ", bits " + std::to_string(t.bits) + ", lanes " +
               std::to_string(t.lanes) + ")";
  }
  expect(name.c_str() == expected, "name of a dtype");
  dlbridge::dtype parsed;
  expect(dlbridge::try_parse_dtype(name.c_str(), parsed) == sound, "a name can be parsed");
  expect(!sound || parsed == t, "round trip of a dtype");
  std::string changed = expected;
  if (!changed.empty()) {
    changed[in.bits<std::uint8_t>() % changed.size()] = in.bits<char>();
  }
  check_dtype_text(changed);
  check_dtype_text(expected + any_text(in, 4));
}

void check_device_text(std::string const& given) {
  exact_text const text{std::string(given.c_str())};
  std::string const whole = text.c_str();
  std::size_t const colon = whole.find(':');
  std::string const name = whole.substr(0, colon);
  std::string const digits = colon == whole.npos ? "0" : whole.substr(colon + 1);
  std::size_t const start = digits.find_first_not_of('0');
  std::string const significant = start == digits.npos ? "" : digits.substr(start);
  bool valid = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos &&
               significant.size() <= 10 && std::atoll(significant.c_str()) <= INT32_MAX;
  int type = 0;
  for (device_name const& each : devices) {
    type = name == each.name ? each.type : type;
  }
  valid = valid && type != 0;
  dlbridge::device const untouched(-3, -4);
  dlbridge::device parsed = untouched;
  expect(dlbridge::try_parse_device(text.c_str(), parsed) == valid, "try_parse_device");
  dlbridge::device const expected(type, valid ? std::atoi(significant.c_str()) : 0);
  expect(parsed == (valid ? expected : untouched), "the parsed device");
}

void check_device(input& in) {
  dlbridge::device const d(in.one_in(8) ? in.bits<std::int32_t>() : in.between(0, 22),
                           in.one_in(2) ? in.between(0, 3) : in.bits<std::int32_t>());
  std::string expected =
      "(device type " + std::to_string(d.type) + ", id " + std::to_string(d.id) + ")";
  bool known = false;
  for (device_name const& each : devices) {
    if (each.type == d.type) {
      known = true;
      expected = each.name;
      expected += d.type == 1 && d.id == 0 ? "" : ":" + std::to_string(d.id);
    }
  }
  auto const name = dlbridge::name_of(d);
  expect(name.c_str() == expected, "name of a device");
  expect(dlbridge::is_known(d) == known, "is_known");
  dlbridge::device parsed;
  expect(dlbridge::try_parse_device(name.c_str(), parsed) == (known && d.id >= 0), "device name");
  expect(!known || d.id < 0 || parsed == d, "round trip of a device");
  std::string changed = expected;
  changed[in.bits<std::uint8_t>() % changed.size()] = in.bits<char>();
  check_device_text(changed);
  check_device_text(expected + any_text(in, 12));
}

template <std::size_t Capacity>
void check_bounded_text(input& in) {
  auto const text = std::make_unique<dlbridge::bounded_text<Capacity>>();
  std::string expected;
  for (int n = in.between(0, 12); n > 0; --n) {
    switch (in.between(0, 3)) {
      case 0: {
        auto const number = in.one_in(2) ? in.integer() : in.bits<std::int64_t>();
        text->append(number);
        expected += std::to_string(number);
        break;
      }
      case 1: {
        auto const number = in.bits<std::uint64_t>();
        text->append_unsigned(number);
        expected += std::to_string(number);
        break;
      }
      case 2: {
        std::string const part = any_text(in, static_cast<std::size_t>(in.between(0, 20)));
        auto const exact = make_exact<char>(part.size());
        std::copy(part.begin(), part.end(), exact.get());
        text->append(exact.get(), part.size());
        expected += part;
        break;
      }
      default: {
        std::string const part(static_cast<std::size_t>(in.between(0, 20)), 'y');
        text->append(exact_text(part).c_str());
        expected += part;
        break;
      }
    }
  }
  if (expected.size() > Capacity - 1) {
    std::size_t kept = Capacity - 4;
    for (std::size_t first = kept; first >= Capacity - 7; --first) {  // of a character of UTF-8
      auto const byte = static_cast<unsigned char>(expected[first]);
      if (byte < 0x80 || byte > 0xBF) {
        kept = first;
        break;
      }
    }
    expected.resize(kept);
    expected.resize(Capacity - 1, '.');
  }
  expect(std::string(text->c_str(), text->size()) == expected, "bounded_text");
  expect(text->c_str()[text->size()] == '\0', "the end of a bounded_text");
  expect(text->empty() == expected.empty(), "empty");
}

void check_stream(input& in) {
  dlbridge::device const where(in.between(0, 22), in.between(0, 3));
  std::int64_t const value = in.one_in(3) ? in.bits<std::int64_t>() : in.between(-3, 4);
  bool const cuda = where.type == kDLCUDA || where.type == kDLCUDAManaged;
  bool const rocm = where.type == kDLROCM;
  bool const valid =
      value == -1 || (cuda && value >= 1) || (rocm && value >= 0 && value != 1 && value != 2);
  int sentinel = 0;
  dlbridge::stream_request request;
  request.stream = dlbridge::stream_ref(dlbridge::cpu, static_cast<void*>(&sentinel));
  auto const why = dlbridge::try_read_stream(where, value, request);
  expect(why.ok() == valid, "try_read_stream");
  if (!valid) {
    expect(why.code() == dlbridge::errc::bad_stream, "reason of a refused stream");
    expect(std::string(why.got.c_str()).find(std::to_string(value)) != std::string::npos,
           "the message names the stream");
    expect(request.stream.native_handle() == &sentinel, "a refusal changes nothing");
    return;
  }
  expect(request.ordered == (value != -1), "order of a stream");
  expect(request.stream.device() == where, "device of a stream");
  if (value != -1) {
    expect(dlbridge::protocol_stream(request.stream) == value, "round trip of a stream");
  }
  expect(dlbridge::unnamed_stream(where).ordered == (cuda || rocm), "stream=None");
}

void check_version(input& in) {
  dlbridge::version const v{
      in.one_in(2) ? in.bits<std::uint32_t>() : static_cast<std::uint32_t>(in.between(0, 2)),
      in.bits<std::uint32_t>()};
  expect(dlbridge::readable(v) == (v.major_number == 1), "readable");
  expect((dlbridge::struct_kind_for(v) == dlbridge::struct_kind::legacy) == (v.major_number == 0),
         "struct_kind_for");
  std::string const expected =
      "version " + std::to_string(v.major_number) + "." + std::to_string(v.minor_number);
  expect(dlbridge::unreadable(v).got.c_str() == expected, "message of a version");
}

void check_report(input& in) {
  dlbridge::report r;
  r.reasons = in.bits<std::uint32_t>() & ((1U << dlbridge::errc_count) - 1);
  r.expected.append(any_text(in, 255).c_str());
  r.got.append(std::string(static_cast<std::size_t>(in.between(0, 255)) * 2, 'z').c_str());
  r.advice = in.one_in(2) ? "Do this" : nullptr;
  auto const text = dlbridge::message(r);
  expect(std::strlen(text.c_str()) == text.size(), "the end of a message");
  for (std::size_t i = 0; i < dlbridge::errc_count; ++i) {
    expect(r.has(static_cast<dlbridge::errc>(i)) == ((r.reasons >> i & 1) != 0), "broke");
  }
  if (!r.ok()) {
    expect(static_cast<unsigned>(r.code()) == static_cast<unsigned>(__builtin_ctz(r.reasons)),
           "the first reason");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  input in(data, size);
  switch (in.between(0, 9)) {
    case 0:
      check_dtype_text(any_text(in, 60));
      break;
    case 1:
      check_device_text(any_text(in, 60));
      break;
    case 2:
      check_dtype(in);
      break;
    case 3:
      check_device(in);
      break;
    case 4:
      check_bounded_text<8>(in);
      break;
    case 5:
      check_bounded_text<48>(in);
      break;
    case 6:
      check_bounded_text<240>(in);
      break;
    case 7:
      check_stream(in);
      break;
    case 8:
      check_version(in);
      break;
    default:
      check_report(in);
      break;
  }
  return 0;
}
