// SPDX-License-Identifier: BSD-3-Clause
// Replaces functions of Python's C API in modules that are loaded: their calls by one thread raise
// an exception on demand. The modules refer to these functions by their dynamic relocations, since
// the interpreter may define the functions itself, so that a preloaded library replaces none.
//
// Calls of a slot of a type, and the parts of the API that are macros or inline functions, are not
// replaced. count_gil_releases replaces one function only, which then counts its calls.
#include <Python.h>
#include <dlfcn.h>
#include <elf.h>
#include <fnmatch.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#if PY_VERSION_HEX < 0x030D0000
// What PY_SSIZE_T_CLEAN, which dlbridge defines, makes of the functions without _SizeT.
extern "C" {
int _PyArg_ParseTuple_SizeT(PyObject*, char const*, ...);
int _PyArg_ParseTupleAndKeywords_SizeT(PyObject*, PyObject*, char const*, char**, ...);
PyObject* _PyObject_CallMethod_SizeT(PyObject*, char const*, char const*, ...);
PyObject* _Py_BuildValue_SizeT(char const*, ...);
}
#endif

namespace {

thread_local PyObject* exception_type = nullptr;  // borrowed
thread_local long before_failure = -1;            // calls that still succeed; -1: all
thread_local bool fails_for_good = false;
thread_local long failure_count = 0;
thread_local char const* first_failure = "";

// The name of the last function that raised. A child process writes it here as well,
// so that it can be read after a crash of that process.
char* const last_failure = [] {
  void* const shared =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static char own[64];
  return shared != MAP_FAILED ? static_cast<char*>(shared) : own;
}();

// Whether this call fails; the exception is then set. Its message is the name of the function.
bool fails(char const* name) {
  if (before_failure < 0 || before_failure-- > 0) {
    return false;
  }
  before_failure = fails_for_good ? 0 : -1;
  first_failure = failure_count == 0 ? name : first_failure;
  ++failure_count;
  std::strncpy(last_failure, name, 63);
  PyErr_SetString(exception_type, name);
  return true;
}

template <class Result>
Result failed() {
  if constexpr (std::is_pointer_v<Result>) {
    return nullptr;
  } else if constexpr (std::is_same_v<Result, Py_complex>) {
    return {-1, 0};
  } else {
    return static_cast<Result>(-1);
  }
}

template <auto Function, class Type = std::remove_pointer_t<decltype(Function)>>
struct wrapper;

template <auto Function, class Result, class... Arguments>
struct wrapper<Function, Result(Arguments...)> {
  inline static char const* name = nullptr;
  static Result call(Arguments... arguments) {
    return fails(name) ? failed<Result>() : Function(arguments...);
  }
};

// The variable arguments are integers and pointers, ten words at most. Those that the caller does
// not pass are read from registers and from its stack, and Function ignores them.
template <auto Function, class Result, class... Arguments>
struct wrapper<Function, Result(Arguments..., ...)> {
  inline static char const* name = nullptr;
  static Result call(Arguments... arguments, long a, long b, long c, long d, long e, long f, long g,
                     long h, long i, long j) {
    if (fails(name)) {
      // PyArg_ParseTuple and its variants return 0
      return std::is_pointer_v<Result> ? failed<Result>() : Result{};
    }
    return Function(arguments..., a, b, c, d, e, f, g, h, i, j);
  }
};

struct replacement {
  char const* name;
  void* function;
};

template <auto Function>
replacement replace(char const* name) {
  wrapper<Function>::name = name;
  return {name, reinterpret_cast<void*>(&wrapper<Function>::call)};
}

#define RAISES(name) replace<&name>(#name)

// The functions that may raise by their contract.
replacement const replacements[] = {
    RAISES(PyArg_ParseTuple),
    RAISES(PyArg_ParseTupleAndKeywords),
    RAISES(PyByteArray_FromObject),
    RAISES(PyBytes_FromObject),
    RAISES(PyBytes_FromString),
    RAISES(PyBytes_FromStringAndSize),
    RAISES(PyCFunction_NewEx),
    RAISES(PyCMethod_New),
    RAISES(PyCapsule_New),
    RAISES(PyComplex_AsCComplex),
    RAISES(PyComplex_FromDoubles),
#if PY_VERSION_HEX >= 0x030B0000
    RAISES(PyCode_GetVarnames),
#endif
    RAISES(PyDescr_NewMethod),
    RAISES(PyDict_Contains),
#if PY_VERSION_HEX >= 0x030D0000
    RAISES(PyDict_GetItemRef),
#endif
    RAISES(PyDict_GetItemWithError),
    RAISES(PyDict_New),
    RAISES(PyDict_SetDefault),
    RAISES(PyDict_SetItemString),
    RAISES(PyErr_NewExceptionWithDoc),
    RAISES(PyFloat_AsDouble),
    RAISES(PyFloat_FromDouble),
    RAISES(PyFrozenSet_New),
    RAISES(PyImport_AddModule),
    RAISES(PyImport_GetModule),
    RAISES(PyImport_ImportModule),
    RAISES(PyInstanceMethod_New),
    RAISES(PyIter_Next),
    RAISES(PyList_Append),
    RAISES(PyList_AsTuple),
    RAISES(PyList_Insert),
    RAISES(PyList_New),
    RAISES(PyLong_AsLong),
    RAISES(PyLong_AsLongLong),
    RAISES(PyLong_AsLongLongAndOverflow),
    RAISES(PyLong_AsUnsignedLong),
    RAISES(PyLong_AsUnsignedLongLong),
    RAISES(PyLong_AsVoidPtr),
    RAISES(PyLong_FromDouble),
    RAISES(PyLong_FromLong),
    RAISES(PyLong_FromLongLong),
    RAISES(PyLong_FromSize_t),
    RAISES(PyLong_FromSsize_t),
    RAISES(PyLong_FromUnsignedLongLong),
    RAISES(PyLong_FromVoidPtr),
    RAISES(PyMapping_GetItemString),
    RAISES(PyMapping_Items),
    RAISES(PyMemoryView_FromObject),
    RAISES(PyModule_AddFunctions),
    RAISES(PyModule_AddObject),
    RAISES(PyModule_GetFilenameObject),
    RAISES(PyModule_GetNameObject),
    RAISES(PyModule_NewObject),
    RAISES(PyNumber_Add),
    RAISES(PyNumber_Float),
    RAISES(PyNumber_Index),
    RAISES(PyNumber_Long),
    RAISES(PyNumber_Multiply),
    RAISES(PyObject_Call),
    RAISES(PyObject_CallFunctionObjArgs),
    RAISES(PyObject_CallMethod),
#if PY_VERSION_HEX < 0x030D0000
    RAISES(_PyArg_ParseTuple_SizeT),
    RAISES(_PyArg_ParseTupleAndKeywords_SizeT),
    RAISES(_PyObject_CallMethod_SizeT),
    RAISES(_Py_BuildValue_SizeT),
#endif
    RAISES(PyObject_CallMethodObjArgs),
    RAISES(PyObject_CallNoArgs),
    RAISES(PyObject_CallObject),
    RAISES(PyObject_CallOneArg),
    RAISES(PyObject_Format),
    RAISES(PyObject_GetAttr),
    RAISES(PyObject_GetAttrString),
    RAISES(PyObject_GetBuffer),
    RAISES(PyObject_GetItem),
    RAISES(PyObject_GetIter),
    RAISES(PyObject_IsTrue),
    RAISES(PyObject_Repr),
    RAISES(PyObject_RichCompareBool),
    RAISES(PyObject_SetAttr),
    RAISES(PyObject_SetAttrString),
    RAISES(PyObject_SetItem),
    RAISES(PyObject_Size),
    RAISES(PyObject_Str),
    RAISES(PyObject_Vectorcall),
    RAISES(PyObject_VectorcallMethod),
    RAISES(PyPickleBuffer_FromObject),
    RAISES(PyRun_String),
    RAISES(PySeqIter_New),
    RAISES(PySequence_Contains),
    RAISES(PySequence_GetItem),
    RAISES(PySequence_Size),
    RAISES(PySequence_Tuple),
    RAISES(PySlice_Unpack),
    RAISES(PyStaticMethod_New),
    RAISES(PyTuple_New),
    RAISES(PyTuple_Pack),
    RAISES(PyType_FromSpec),
    RAISES(PyType_FromSpecWithBases),
    RAISES(PyType_GenericAlloc),
    RAISES(PyType_Ready),
    RAISES(PyUnicode_AsEncodedString),
    RAISES(PyUnicode_AsUTF8),
    RAISES(PyUnicode_AsUTF8AndSize),
    RAISES(PyUnicode_AsUTF8String),
    RAISES(PyUnicode_Compare),
    RAISES(PyUnicode_DecodeLatin1),
    RAISES(PyUnicode_DecodeUTF8),
    RAISES(PyUnicode_FromFormat),
    RAISES(PyUnicode_FromString),
    RAISES(PyUnicode_FromStringAndSize),
    RAISES(PyUnicode_InternFromString),
    RAISES(PyUnicode_Join),
    RAISES(PyUnicode_Replace),
    RAISES(PyWeakref_NewRef),
    RAISES(Py_BuildValue),
    RAISES(_PyObject_New),
};

// The other functions, which are left as they are: patterns of fnmatch.
// clang-format off
char const* const kept[] = {
    // They do not fail, or they report a failure without an exception.
    "Py*_Check", "Py_Is*", "_Py_IsFinalizing", "Py_GetVersion", "PyBool_FromLong",
    "PyBuffer_IsContiguous", "PyBuffer_Release", "PyCapsule_IsValid", "PyDict_GetItemString",
    "PyDict_Next", "PyFrame_*", "PyModuleDef_Init", "PyObject_CheckBuffer",
    "PyObject_HasAttrString", "PyObject_Init", "PySlice_AdjustIndices", "PyType_GetFlags",
    "PyType_IsSubtype",
    "PyUnicode_CompareWithASCIIString", "_PyObject_GetDictPtr", "_PyType_Lookup*",
    // They release a reference or memory, or allocate memory that the caller must check.
    "_Py_Dealloc", "PyMem_*", "PyObject_Calloc", "PyObject_ClearWeakRefs", "PyObject_Free",
    "PyObject_GC_*", "PyObject_Malloc",
    // They manage threads, and exceptions themselves.
    "PyErr_*", "PyEval_*", "PyException_*", "PyGILState_*", "PyInterpreterState_*", "PyThread*",
    "_PyThreadState_*", "PyCriticalSection_*",
    // They fail only for an object of another type or for an index outside, which the callers have
    // checked.
    "PyByteArray_AsString", "PyByteArray_Size", "PyBytes_AsString*", "PyBytes_Size",
    "PyCFunction_Get*", "PyCapsule_Get*", "PyCapsule_Set*", "PyFunction_Get*",
    "PyDict_Size", "PyInstanceMethod_Function", "PyList_GetItem*", "PyList_SetItem", "PyList_Size",
    "PyModule_GetName", "PyTuple_GetItem", "PyTuple_SetItem", "PyTuple_Size",
    // pybind11 takes its failure for true, and crashes. dlbridge calls it to compare a Tensor.
    "PyObject_IsInstance",
    // Slots of types and of attributes, which are compared, or called by the interpreter.
    "PyObject_Generic*",
};
// clang-format on

bool is_kept(char const* name) {
  for (char const* each : kept) {
    if (fnmatch(each, name, 0) == 0) {
      return true;
    }
  }
  return false;
}

void* replacement_of(char const* name) {
  for (replacement const& each : replacements) {
    if (std::strcmp(each.name, name) == 0) {
      return each.function;
    }
  }
  return nullptr;
}

// The linker may have made the page read-only after it had resolved the symbols.
void overwrite(void** place, void* value) {
  auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) == 0) {
    *place = value;
  }
}

// One loaded module: its symbols, and the relocations that refer to them.
struct module_file {
  ElfW(Addr) base = 0;
  ElfW(Sym) const* symbols = nullptr;
  char const* strings = nullptr;
  ElfW(Rela) const* tables[2] = {};
  std::size_t sizes[2] = {};

  explicit module_file(link_map const& map) : base(map.l_addr) {
    for (ElfW(Dyn) const* each = map.l_ld; each->d_tag != DT_NULL; ++each) {
      void const* const address = reinterpret_cast<void const*>(each->d_un.d_ptr);
      switch (each->d_tag) {
        case DT_SYMTAB:
          symbols = static_cast<ElfW(Sym) const*>(address);
          break;
        case DT_STRTAB:
          strings = static_cast<char const*>(address);
          break;
        case DT_RELA:
          tables[0] = static_cast<ElfW(Rela) const*>(address);
          break;
        case DT_RELASZ:
          sizes[0] = each->d_un.d_val;
          break;
        case DT_JMPREL:
          tables[1] = static_cast<ElfW(Rela) const*>(address);
          break;
        case DT_PLTRELSZ:
          sizes[1] = each->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }

  template <class Visit>  // visit(name, place)
  void each_function(Visit visit) const {
    for (int table = 0; table < 2; ++table) {
      for (std::size_t i = 0; i < sizes[table] / sizeof(ElfW(Rela)); ++i) {
        ElfW(Rela) const& entry = tables[table][i];
        auto const type = ELF64_R_TYPE(entry.r_info);
        ElfW(Sym) const& symbol = symbols[ELF64_R_SYM(entry.r_info)];
        char const* const name = strings + symbol.st_name;
        bool const is_python =
            std::strncmp(name, "Py", 2) == 0 || std::strncmp(name, "_Py", 3) == 0;
        if (is_python && (type == jump_slot || type == global_data)) {
          visit(name, reinterpret_cast<void**>(base + entry.r_offset));
        }
      }
    }
  }

#if defined(__x86_64__)
  static constexpr unsigned jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
  static constexpr unsigned jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT;
#endif
};

// The file of a loaded module; none, with an exception set, if it is not loaded.
link_map const* find_module(char const* path) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
    PyErr_Format(PyExc_OSError, "%s is not loaded", path);
    return nullptr;
  }
  return map;
}

thread_local long release_count = 0;

PyThreadState* count_release() {
  ++release_count;
  return PyEval_SaveThread();
}

bool is_function(char const* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  ElfW(Sym) const* symbol = nullptr;
  void* extra = nullptr;
  return address != nullptr && dladdr1(address, &info, &extra, RTLD_DL_SYMENT) != 0 &&
         (symbol = static_cast<ElfW(Sym) const*>(extra)) != nullptr &&
         ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

}  // namespace

extern "C" {

// Replaces the functions in a module, which is loaded. Returns a list of the functions that neither
// table of this file names.
PyObject* replace_api(char const* path) {
  link_map const* const map = find_module(path);
  if (map == nullptr) {
    return nullptr;
  }
  PyObject* const unknown = PyList_New(0);
  module_file(*map).each_function([&](char const* name, void** place) {
    if (void* const function = replacement_of(name)) {
      overwrite(place, function);
    } else if (!is_kept(name) && is_function(name)) {
      PyObject* const text = PyUnicode_FromString(name);
      PyList_Append(unknown, text);
      Py_DECREF(text);
    }
  });
  return unknown;
}

// Counts from now on how often a module, which is loaded, releases the GIL.
PyObject* count_gil_releases(char const* path) {
  link_map const* const map = find_module(path);
  if (map == nullptr) {
    return nullptr;
  }
  module_file(*map).each_function([](char const* name, void** place) {
    if (std::strcmp(name, "PyEval_SaveThread") == 0) {
      overwrite(place, reinterpret_cast<void*>(&count_release));
    }
  });
  Py_RETURN_NONE;
}

// How often this thread has released the GIL in such a module.
long gil_releases() { return release_count; }

// Lets `successes` calls of this thread succeed. The next one raises `exception`, and with for_good
// every later one. A negative number ends that. Returns the number of failures since the last call.
long fail_calls(long successes, int for_good, PyObject* exception) {
  long const count = failure_count;
  exception_type = exception;
  before_failure = successes;
  fails_for_good = for_good != 0;
  failure_count = 0;
  return count;
}

// The first function that raised since the last call of fail_calls that let calls fail.
char const* failed_function() { return first_failure; }

// The last function that raised in this process or in a child.
char const* last_failed_function() { return last_failure; }
}
