"""The known defects of JAX."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect

SEEN = "0.10.2, 0.12.0.1"

ROWS = [
    Defect(
        "jax-copy-not-made",
        "jax",
        SEEN,
        "ignored",
        "from_dlpack(x, copy=True) makes no copy of CPU memory that is aligned to 64 bytes.",
        "An array that JAX takes for constant changes when the source is written.",
        "Let dlbridge copy: jax.dlpack.from_dlpack(dlbridge.from_dlpack(x, copy=True)).",
        """
        import jax, by_hand
        source = by_hand.capsule()
        shared = by_hand.contents(source).tensor.data
        class Once(by_hand.Producer):
            def __dlpack__(self, **keywords):
                return source
        y = jax.dlpack.from_dlpack(Once(), copy=True)
        print("same memory" if y.unsafe_buffer_pointer() == shared else "copied")
        """,
        "same memory",
        """
        import by_hand, dlbridge, jax
        t = dlbridge.from_dlpack(by_hand.Producer())
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(t, copy=True))
        assert y.unsafe_buffer_pointer() != t.data_ptr
        """,
        ("S-14",),
    ),
    Defect(
        "jax-null-deleter",
        "jax",
        SEEN,
        "crash",
        "A tensor without a deleter ends the process when the array goes.",
        "Producers of memory that lives forever, which may leave the deleter out.",
        "Go through dlbridge: what it exports has a deleter always.",
        """
        import jax, by_hand
        y = jax.dlpack.from_dlpack(by_hand.Producer(deleter=False))
        del y
        """,
        "SIGABRT",
        """
        import by_hand, dlbridge, jax
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(by_hand.Producer(deleter=False)))
        assert y.tolist() == [0, 1, 2, 3]
        del y
        """,
        ("X-06",),
    ),
    Defect(
        "jax-device-not-checked",
        "jax",
        SEEN,
        "wrong",
        "It believes __dlpack_device__ and never looks at the device in the capsule.",
        "A producer that says CPU and hands over CUDA memory has its pointer read by the CPU.",
        "Go through dlbridge: it believes the capsule.",
        """
        import jax, by_hand
        class Elsewhere(by_hand.Producer):
            def __dlpack_device__(self):
                return (1, 0)
        y = jax.dlpack.from_dlpack(Elsewhere(device=(2, 0)))
        print("CUDA memory became an array on", y.device)
        """,
        "CUDA memory became an array on cpu:0",
        """
        import by_hand, dlbridge
        class Elsewhere(by_hand.Producer):
            def __dlpack_device__(self):
                return (1, 0)
        assert dlbridge.from_dlpack(Elsewhere(device=(2, 0))).device == "cuda:0"
        """,
        ("C-14",),
    ),
    Defect(
        "jax-legacy-only",
        "jax",
        "0.10.2",
        "refused",
        "It answers with a legacy capsule whatever max_version says.",
        "PyArrow and mpi4py refuse JAX arrays; NumPy makes them read-only because it cannot tell.",
        "Go through dlbridge: it takes either kind, and gives versioned ones.",
        """
        import jax.numpy as jnp, by_hand
        print(by_hand.name(jnp.zeros(3).__dlpack__(max_version=(1, 0))))
        """,
        "dltensor",
        """
        import by_hand, dlbridge, jax.numpy as jnp
        t = dlbridge.from_dlpack(jnp.zeros(3))
        assert by_hand.name(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
        """,
        ("P-05",),
    ),
    Defect(
        "jax-never-asks-versioned",
        "jax",
        "0.10.2",
        "refused",
        "It never asks for a versioned capsule, and a legacy one cannot mark what is read-only.",
        "Read-only NumPy arrays are refused: BufferError, by the producer.",
        "Promise that nobody will write, which JAX does not: "
        "jax.dlpack.from_dlpack(dlbridge.from_dlpack(x, readonly=False)).",
        """
        import jax, by_hand
        class Asked(by_hand.Producer):
            def __dlpack__(self, **keywords):
                print(sorted(keywords))
                return by_hand.capsule()
        jax.dlpack.from_dlpack(Asked())
        """,
        "['stream']",
        """
        import dlbridge, jax
        t = dlbridge.as_tensor(b"abc")
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(t, readonly=False))
        assert y.tolist() == [97, 98, 99]
        """,
        ("C-02",),
    ),
]
