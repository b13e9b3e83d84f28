# SPDX-License-Identifier: BSD-3-Clause
# The C++ API of <dlbridge/dlbridge.hpp> for Cython: owners, views and descriptions of tensors, without
# Python.h. The doc comments of the headers describe each name.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

cdef extern from "dlbridge/dlbridge.hpp" nogil:
    ctypedef enum DLDataTypeCode:
        kDLInt
        kDLUInt
        kDLFloat
        kDLOpaqueHandle
        kDLBfloat
        kDLComplex
        kDLBool
    ctypedef enum DLDeviceType:
        kDLCPU
        kDLCUDA
        kDLCUDAHost
        kDLCUDAManaged
        kDLROCM
        kDLROCMHost
        kDLOneAPI
    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct DLDevice:
        DLDeviceType device_type
        int32_t device_id
    ctypedef struct DLManagedTensor:
        pass
    ctypedef struct DLManagedTensorVersioned:
        pass

cdef extern from "dlbridge/dlbridge.hpp" namespace "dlbridge" nogil:
    # The shapes that accept any extents. Others are declared in the same way:
    #     cdef cppclass rgb "dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent, 3>"
    cdef cppclass dynamic_rank:
        pass
    cdef cppclass rank1 "dlbridge::shape<dlbridge::dynamic_extent>":
        pass
    cdef cppclass rank2 "dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>":
        pass
    cdef cppclass rank3 "dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent, dlbridge::dynamic_extent>":
        pass

    cdef cppclass dims:
        dims()
        dims(int64_t)
        dims(int64_t, int64_t)
        dims(int64_t, int64_t, int64_t)
        @staticmethod
        dims from_ "from"(const int64_t*, size_t)  # an array of any rank, and its length
        @staticmethod
        dims from_ "from"(const Py_ssize_t*, size_t)
        int size()
        int64_t operator[](int)

    cdef cppclass dtype:
        uint8_t code
        uint8_t bits
        uint16_t lanes
        dtype()
        dtype(int code, int bits)
        dtype(int code, int bits, int lanes)
        dtype(DLDataType)
        DLDataType abi()
        bint operator==(dtype)
        bint operator!=(dtype)
    dtype dtype_of[T]()

    cdef cppclass device:
        int32_t type
        int32_t id
        device()
        device(int type, int id)
        device(DLDevice)
        DLDevice abi()
        bint operator==(device)
        bint operator!=(device)
    bint is_host_accessible(device)

    const uint64_t flag_read_only
    const uint64_t flag_is_copied
    const uint64_t flag_padded

    cdef cppclass tensor_view:
        const void* data()
        void* mutable_data() except +BufferError
        uint64_t byte_offset()
        dtype dtype()
        device device()
        int rank()
        int64_t extent(int)
        int64_t stride(int)
        int64_t count()
        bint empty()
        uint64_t flags()
        bint read_only()
        bint is_copied()
        bint is_padded()
        bint is_row_major()
        bint is_column_major()
        bint is_compact()
    int64_t bytes_for(int64_t, dtype, bint)  # the count, the dtype and is_padded() of a compact tensor

    cdef cppclass managed_tensor:
        managed_tensor()
        @staticmethod
        managed_tensor steal(DLManagedTensorVersioned*) except +BufferError
        @staticmethod
        managed_tensor steal(DLManagedTensor*) except +BufferError
        bint operator bool()
        bint operator!()
        tensor_view view()
        DLManagedTensorVersioned* release_versioned()
        DLManagedTensor* release_legacy()
        void reset()

    cdef cppclass tensor_span[T, Shape=*]:
        tensor_span(tensor_view) except +BufferError
        T* data()
        int rank()
        int64_t extent(int)
        int64_t stride(int)
        int64_t count()
        T& operator()(int64_t)
        T& operator()(int64_t, int64_t)
        T& operator()(int64_t, int64_t, int64_t)

    # The properties of an array that is exported. The strides count elements; without them the array
    # is row-major. Without a device the memory is that of the CPU.
    cdef cppclass description:
        void* data
        dtype type
        dims shape
        dims strides
        device device
        uint64_t byte_offset
        uint64_t flags
        description()
        @staticmethod
        description of[T](T*, dims)  # read-only if T is const
        @staticmethod
        description of[T](T*, dims, dims)
