"""The known defects of TensorFlow."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "2.21.0"

ROWS = [
    Defect(
        "tensorflow-unaligned",
        "tensorflow",
        SEEN,
        "crash",
        "It takes memory at any address, and its first operation on memory that is not aligned to "
        "64 bytes ends the process.",
        "Slices of any library, and NumPy's arrays, which are aligned to 16.",
        "Copy on the way: dlbridge.to_dlpack(x, copy=True) aligns to 64.",
        """
        import tensorflow as tf, by_hand
        t = tf.experimental.dlpack.from_dlpack(by_hand.capsule(shape=(32,), shift=32))
        t + t
        """,
        "SIGABRT",
        """
        import by_hand, dlbridge, tensorflow as tf
        x = by_hand.capsule(shape=(32,), shift=32)
        t = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(x, copy=True))
        assert (t + t).numpy()[31] == 62
        """,
        ("C-15",),
    ),
    Defect(
        "tensorflow-string-export",
        "tensorflow",
        SEEN,
        "crash",
        "Exporting a tensor of strings ends the process, as do variants and resources.",
        "Anyone who hands on tensors without looking at their dtype.",
        "Look at x.dtype first; dlbridge asks the same question and gets the same answer.",
        """
        import tensorflow as tf
        tf.constant("a").__dlpack__()
        """,
        "SIGABRT",
    ),
    Defect(
        "tensorflow-freed-twice",
        "tensorflow",
        SEEN,
        "freed",
        "When it refuses a device it frees the tensor and leaves the capsule its name: the capsule "
        "frees it again.",
        "A double free in the producer, some time after an error that was caught.",
        "Look at the device first: dlbridge.from_dlpack(x).device.",
        """
        import tensorflow as tf, by_hand
        capsule = by_hand.capsule(device=(2, 0))
        try:
            tf.experimental.dlpack.from_dlpack(capsule)
        except tf.errors.InvalidArgumentError:
            pass
        del capsule
        print("freed", len(by_hand.freed), "times")
        """,
        "freed 2 times",
        """
        import by_hand, dlbridge
        t = dlbridge.from_dlpack(by_hand.capsule(device=(2, 0)))
        assert t.device == "cuda:0"
        del t
        assert len(by_hand.freed) == 1
        """,
        ("C-07",),
    ),
    Defect(
        "tensorflow-lanes",
        "tensorflow",
        SEEN,
        "wrong",
        "Lanes are ignored: of every vector of two floats the first half of the memory is taken.",
        "Producers of vector types, such as float4 of graphics and OpenCL.",
        "Look at the dtype first: dlbridge.from_dlpack(x).dtype.lanes.",
        """
        import tensorflow as tf, by_hand
        t = tf.experimental.dlpack.from_dlpack(by_hand.capsule(shape=(2,), dtype=(2, 32, 2)))
        print(t.numpy())
        """,
        "[0. 1.]",
        """
        import by_hand, dlbridge
        t = dlbridge.from_dlpack(by_hand.capsule(shape=(2,), dtype=(2, 32, 2)))
        assert (t.dtype.lanes, t.nbytes) == (2, 16)
        """,
        ("C-12",),
    ),
    Defect(
        "tensorflow-negative-extent",
        "tensorflow",
        SEEN,
        "crash",
        "A capsule with a negative extent ends the process, as do 1000 dimensions.",
        "A broken producer kills the interpreter where an error was due.",
        "Let dlbridge.to_dlpack read what you do not trust: it checks first, and raises.",
        """
        import tensorflow as tf, by_hand
        tf.experimental.dlpack.from_dlpack(by_hand.capsule(shape=(-2,)))
        """,
        "SIGABRT",
        refused("by_hand.capsule(shape=(-2,))"),
        ("C-11",),
    ),
    Defect(
        "tensorflow-device-request",
        "tensorflow",
        SEEN,
        "refused",
        "It raises RuntimeError for every dl_device, even for the one where the tensor is.",
        "np.from_dlpack(t, device='cpu').",
        "Go through dlbridge: it does not insist where the tensor is there already.",
        """
        import tensorflow as tf
        try:
            tf.constant([1.0]).__dlpack__(dl_device=(1, 0))
        except RuntimeError:
            print("refused")
        """,
        "refused",
        """
        import dlbridge, tensorflow as tf
        assert memoryview(dlbridge.from_dlpack(tf.constant([1.0]), device="cpu")).tolist() == [1]
        """,
        ("P-26",),
    ),
    Defect(
        "tensorflow-copy-request",
        "tensorflow",
        SEEN,
        "refused",
        "It raises RuntimeError for copy=True, where BufferError is due.",
        "np.from_dlpack(t, copy=True).",
        "Go through dlbridge: dlbridge.from_dlpack(dlbridge.from_dlpack(t), copy=True).",
        """
        import tensorflow as tf
        try:
            tf.constant([1.0]).__dlpack__(copy=True)
        except BufferError:
            print("refused as it should be")
        except RuntimeError:
            print("refused by RuntimeError")
        """,
        "refused by RuntimeError",
        """
        import dlbridge, tensorflow as tf
        t = dlbridge.from_dlpack(tf.constant([1.0]))
        copied = dlbridge.from_dlpack(t, copy=True)
        assert copied.data_ptr != t.data_ptr and memoryview(copied).tolist() == [1]
        """,
        ("P-24",),
    ),
    Defect(
        "tensorflow-legacy-only",
        "tensorflow",
        SEEN,
        "refused",
        "It gives and takes legacy capsules only, and of others it takes capsules and no objects.",
        "PyArrow and mpi4py refuse its tensors; read-only arrays cannot reach it.",
        "dlbridge.from_dlpack(t) on the way out, dlbridge.to_dlpack(x) on the way in.",
        """
        import tensorflow as tf, by_hand
        print(by_hand.name(tf.constant([1.0]).__dlpack__(max_version=(1, 0))))
        """,
        "dltensor",
        """
        import by_hand, dlbridge, tensorflow as tf
        out = dlbridge.from_dlpack(tf.constant([1.0])).__dlpack__(max_version=(1, 0))
        assert by_hand.name(out) == "dltensor_versioned"
        x = by_hand.Producer(version=(1, 0))
        t = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(x))
        assert t.numpy().tolist() == [0, 1, 2, 3]
        """,
        ("P-05",),
    ),
]
