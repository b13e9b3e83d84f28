# The C++ API of <dlbridge/dlbridge.hpp> for Cython: owners and views of tensors, without Python.h.
# The doc comments of the headers describe each name.
from libc.stdint cimport int64_t

cdef extern from "dlbridge/dlbridge.hpp" nogil:
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
        int size()
        int64_t operator[](int)

    cdef cppclass tensor_view:
        int rank()
        int64_t extent(int)
        int64_t stride(int)
        int64_t count()

    cdef cppclass managed_tensor:
        managed_tensor()
        @staticmethod
        managed_tensor steal(DLManagedTensorVersioned*) except +BufferError
        tensor_view view()
        DLManagedTensorVersioned* release_versioned()

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
