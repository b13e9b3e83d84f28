// SPDX-License-Identifier: BSD-3-Clause
// fuzz_exchange: searches chains of exchange tables, and calls tables whose functions fail, return
// nothing, or return malformed tensors; every tensor that dlbridge owns is freed once.
#include <dlbridge/exchange_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "hostile_struct.hpp"
#include "input.hpp"

namespace {

using dlbridge::errc;
using dlbridge::exchange_table;
using dlbridge::managed_tensor;
using dlbridge::report;
using versioned = hostile<DLManagedTensorVersioned>;

/// What the functions of every table do in this run.
struct script {
  int status = 0;
  bool writes = true;           // whether the function writes its result
  versioned* tensor = nullptr;  // the result of an export or an allocation
  int errors = 0;               // calls of the error callback
  char const* kind = nullptr;
  char const* message = nullptr;
  DLTensor lent{};
  void* object = nullptr;
  DLManagedTensorVersioned* received = nullptr;
};
script now;

int give(void*, DLManagedTensorVersioned** out) {
  if (now.writes) {
    *out = now.tensor != nullptr ? &now.tensor->managed : nullptr;
  }
  return now.status;
}
int take(DLManagedTensorVersioned* tensor, void** out) {
  now.received = tensor;
  if (now.writes) {
    *out = now.object;
  }
  return now.status;
}
int lend(void*, DLTensor* out) {
  if (now.writes) {
    *out = now.lent;
  }
  return now.status;
}
int allocate(DLTensor*, DLManagedTensorVersioned** out, void* context,
             void (*set_error)(void*, char const*, char const*)) {
  for (int i = 0; i < now.errors; ++i) {
    set_error(context, now.kind, now.message);
  }
  return give(nullptr, out);
}
int stream(DLDeviceType, std::int32_t, void** out) {
  if (now.writes) {
    *out = now.object;
  }
  return now.status;
}

/// A table in a heap block, which is as large as its header if dlbridge cannot read more of it.
struct table {
  exact_array<unsigned char> block;
  DLPackExchangeAPIHeader* header() const {
    return reinterpret_cast<DLPackExchangeAPIHeader*>(block.get());
  }
};

using chain = std::array<table, 4>;

chain make_chain(input& in) {
  chain all;
  for (table& each : all) {
    constexpr std::uint32_t majors[] = {0, 1, 1, 2, 3};
    std::uint32_t const major = in.one_in(16) ? in.bits<std::uint32_t>() : in.pick(majors);
    bool const is_readable = major == 1;
    each.block = make_exact<unsigned char>(is_readable ? sizeof(DLPackExchangeAPI)
                                                       : sizeof(DLPackExchangeAPIHeader));
    each.header()->version = {major, in.one_in(16) ? in.bits<std::uint32_t>()
                                                   : static_cast<std::uint32_t>(in.between(0, 3))};
    if (is_readable) {
      auto* const api = reinterpret_cast<DLPackExchangeAPI*>(each.block.get());
      std::uint8_t const missing = in.one_in(2) ? 0 : in.bits<std::uint8_t>();
      api->managed_tensor_allocator = (missing & 1) != 0 ? nullptr : allocate;
      api->managed_tensor_from_py_object_no_sync = (missing & 2) != 0 ? nullptr : give;
      api->managed_tensor_to_py_object_no_sync = (missing & 4) != 0 ? nullptr : take;
      api->dltensor_from_py_object_no_sync = (missing & 8) != 0 ? nullptr : lend;
      api->current_work_stream = (missing & 16) != 0 ? nullptr : stream;
    }
  }
  for (table& each : all) {  // null, itself, an older or a newer one: cycles are possible
    int const next = in.between(0, 5);
    each.header()->prev_api = next < 4 ? all[static_cast<std::size_t>(next)].header() : nullptr;
  }
  return all;
}

/// The first readable table of a strictly decreasing sequence of versions.
void const* expected_table(DLPackExchangeAPIHeader const* first) {
  while (first != nullptr && first->version.major != 1) {
    DLPackExchangeAPIHeader const* const next = first->prev_api;
    auto const rank = [](DLPackExchangeAPIHeader const& h) {
      return std::uint64_t{h.version.major} << 32 | h.version.minor;
    };
    first = next != nullptr && rank(*next) < rank(*first) ? next : nullptr;
  }
  return first;
}

/// The result of try_export or try_allocate, and what must be true of it.
void check_received(managed_tensor owned, report const& why, bool is_accepted, long deleted) {
  expect(static_cast<bool>(owned) == is_accepted, "a tensor from a table");
  if (is_accepted) {
    expect(why.ok() && account::deleted == deleted, "an accepted tensor is alive");
  }
  owned = managed_tensor();
}

/// The tensor of the next call, or none; and whether dlbridge must accept it.
bool prepare_tensor(input& in, bool& no_deleter) {
  no_deleter = in.one_in(16);
  now.tensor = in.one_in(8) ? nullptr : make_hostile<DLManagedTensorVersioned>(in, no_deleter);
  if (now.tensor == nullptr) {
    return false;
  }
  if (now.tensor->managed.version.major != 1) {
    now.tensor->poison();
    return false;
  }
  return oracle::is_valid(now.tensor->tensor());
}

void free_tensor(bool is_owned_by_dlbridge, bool no_deleter, long deleted) {
  if (now.tensor == nullptr) {
    return;
  }
  bool const is_freed = is_owned_by_dlbridge && !no_deleter;
  expect(account::deleted == deleted + (is_freed ? 1 : 0), "the deleter runs once");
  if (!is_freed) {
    versioned::destroy(&now.tensor->managed);
  }
}

void check_export(input& in, exchange_table const& api) {
  bool no_deleter = false;
  bool const is_valid = prepare_tensor(in, no_deleter);
  bool const arrives = now.status == 0 && now.writes && now.tensor != nullptr;
  long const deleted = account::deleted;
  report why;
  check_received(api.try_export(&now, why), why, arrives && is_valid, deleted);
  if (now.status == 0) {
    expect(why.ok() == (arrives && is_valid), "report of try_export");
    expect(arrives || why.code() == errc::producer_failed, "success without a tensor");
  } else {
    expect(why.ok(), "the Python exception describes the failure");
  }
  free_tensor(arrives, no_deleter, deleted);
}

void check_allocate(input& in, exchange_table const& api) {
  bool no_deleter = false;
  bool const is_valid = prepare_tensor(in, no_deleter);
  bool const arrives = now.status == 0 && now.writes && now.tensor != nullptr;
  long const deleted = account::deleted;
  now.errors = in.between(0, 2);
  constexpr char const* kinds[] = {"MemoryError", "ValueError", "", "MemoryErrors"};
  std::string const text(static_cast<std::size_t>(in.between(0, 255)) * 2, 'x');
  auto kind = std::make_unique<std::string>(in.pick(kinds));
  auto message = std::make_unique<std::string>(text);
  now.kind = in.one_in(8) ? nullptr : kind->c_str();
  now.message = in.one_in(8) ? nullptr : message->c_str();
  bool const no_memory = now.kind != nullptr && *kind == "MemoryError";
  bool const no_message = now.message == nullptr;
  DLTensor prototype{};
  report why;
  managed_tensor owned = api.try_allocate(prototype, why);
  kind.reset();  // the report has a copy
  message.reset();
  expect(why.ok() == (arrives && is_valid), "report of try_allocate");
  if (!arrives) {
    bool const is_reported = now.errors > 0;
    expect(why.code() == (is_reported && no_memory ? errc::out_of_memory : errc::producer_failed),
           "reason of a failed allocation");
    std::string const got = why.got.c_str();
    std::string const full = !is_reported ? "none" : no_message ? "no reason" : text;
    expect(full.size() < 240 ? got == full : got == full.substr(0, 236) + "...",
           "message of the library");
  }
  check_received(std::move(owned), why, arrives && is_valid, deleted);
  free_tensor(arrives, no_deleter, deleted);
}

void check_import(input& in, exchange_table const& api) {
  auto* const h = make_hostile<DLManagedTensorVersioned>(in, false);
  long const deleted = account::deleted;
  {
    managed_tensor m = managed_tensor::adopt(&h->managed);
    void* const object = api.try_import(m);
    expect(now.received == &h->managed, "the table receives the tensor");
    expect(object == (now.status == 0 && now.writes ? now.object : nullptr), "object");
    expect(static_cast<bool>(m) == (now.status != 0), "owner after try_import");
    expect(account::deleted == deleted, "try_import frees nothing");
  }
  expect(account::deleted == deleted + (now.status != 0 ? 1 : 0), "owner of a refused tensor");
  if (now.status == 0) {
    versioned::destroy(&h->managed);
  }
}

void check_lend(input& in, exchange_table const& api) {
  now.lent = DLTensor{};
  now.lent.ndim = in.bits<std::int32_t>();
  DLTensor out{};
  out.ndim = -7;
  bool const success = api.try_lend(&now, out);
  expect(success == (now.status == 0), "try_lend");
  expect(out.ndim == (now.writes ? now.lent.ndim : -7), "lent tensor");
}

void check_stream(input& in, exchange_table const& api) {
  int sentinel = 0;
  dlbridge::device const where(in.between(0, 22), in.bits<std::int32_t>());
  dlbridge::stream_ref out(dlbridge::cpu, static_cast<void*>(&sentinel));
  bool const success = api.try_work_stream(where, out);
  expect(success == (now.status == 0), "try_work_stream");
  if (success) {
    expect(out.device() == where, "device of the stream");
    expect(out.native_handle() == (now.writes ? now.object : nullptr), "handle of the stream");
  } else {
    expect(out.native_handle() == &sentinel, "the stream is unchanged after a failure");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  input in(data, size);
  chain const all = make_chain(in);
  void const* const first = in.one_in(32) ? nullptr : all[0].header();
  exchange_table const api = exchange_table::find(first);
  expect(api.get() == expected_table(static_cast<DLPackExchangeAPIHeader const*>(first)), "find");
  if (!api) {
    return 0;
  }
  for (int call = 0; call < 3; ++call) {
    now = script();
    now.status = in.one_in(3) ? in.bits<std::int32_t>() : 0;
    now.writes = !in.one_in(4);
    now.object = in.one_in(8) ? nullptr : &now;
    switch (in.between(0, 4)) {
      case 0:
        api.can_export() ? check_export(in, api) : void();
        break;
      case 1:
        api.can_allocate() ? check_allocate(in, api) : void();
        break;
      case 2:
        api.can_import() ? check_import(in, api) : void();
        break;
      case 3:
        api.can_lend() ? check_lend(in, api) : void();
        break;
      default:
        api.has_work_stream() ? check_stream(in, api) : void();
        break;
    }
  }
  return 0;
}
