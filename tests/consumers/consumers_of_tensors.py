# SPDX-License-Identifier: BSD-3-Clause
"""What libraries make of a Tensor that is given to them directly, beside the ndarray as control.

Each row of ROWS calls one library with an array, and returns plain values. `refuses` is a part of
the message with which the library refuses a Tensor; without it the values must be equal.
"""

from __future__ import annotations

import io
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


@dataclass(frozen=True)
class Row:
    library: str  # the module to import
    call: str
    use: Callable[[Any, Any], Any]  # takes the module and the array
    array: str = "vector"  # of ARRAYS
    refuses: str = ""

    @property
    def name(self) -> str:
        return f"{self.library}: {self.call}"


ARRAYS = {
    "vector": np.arange(6, dtype="float64"),
    "integers": np.arange(6),
    "matrix": np.arange(12, dtype="float32").reshape(4, 3),
    "image": np.arange(192, dtype="uint8").reshape(8, 8, 3),
    "steps": np.arange(24.0).reshape(4, 6)[::2, ::-1],
}


def frame(table: Any) -> Any:
    return [str(each) for each in table.dtypes], table.to_numpy().tolist()


def written(module: Any, array: Any) -> Any:
    with module.File(io.BytesIO(), "w") as file:
        file["x"] = array
        file.attrs["y"] = array
        return str(file["x"].dtype), file["x"][()].tolist(), file.attrs["y"].tolist()


def zarr_array(module: Any, array: Any) -> Any:
    target = module.zeros(array.shape, dtype="float64")
    target[...] = array
    stored = module.array(array)
    return str(stored.dtype), stored[...].tolist(), target[...].tolist()


def dumped(module: Any, array: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "x")
        module.dump(array, file)
        loaded = np.asarray(module.load(file))
    return str(loaded.dtype), loaded.tolist()


def plotted(module: Any, array: Any) -> Any:
    module.use("Agg")
    from matplotlib import pyplot

    lines = [line.get_xydata().tolist() for line in pyplot.plot(array)]
    image = pyplot.imshow(np.atleast_2d(array)).get_array().tolist()
    counts = np.asarray(pyplot.hist(array)[0]).tolist()
    pyplot.close("all")
    return lines, image, counts


def scaled(module: Any, array: Any) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    result = StandardScaler().fit_transform(array)
    return str(result.dtype), result.tolist(), LinearRegression().fit(array, array).coef_.tolist()


def split(module: Any, array: Any) -> Any:
    from sklearn.model_selection import train_test_split

    return [np.asarray(each).tolist() for each in train_test_split(array, random_state=0)]


def computed(module: Any, array: Any) -> Any:
    from scipy import fft, signal, sparse

    return (
        signal.convolve(array, array).tolist(),
        np.abs(fft.fft(array)).tolist(),
        sparse.coo_array(array).toarray().tolist(),
    )


def compiled(module: Any, array: Any) -> Any:
    def total(x: Any) -> float:
        result = 0.0
        for element in x:
            result += element
        return result

    return module.njit(total)(array)


def ray_task(ray: Any, t: Any) -> Any:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray.init(num_cpus=1, log_to_driver=False, include_dashboard=False)
    try:
        # [ray]
        @ray.remote
        def total(t):
            return float(np.asarray(t).sum())

        reference = ray.put(t)  # copies the elements to the object store, once
        sum_of_worker = ray.get(total.remote(reference))
        stored = ray.get(reference)
        # [/ray]
        return sum_of_worker, np.asarray(stored).tolist()
    finally:
        ray.shutdown()


def batches(module: Any, array: Any) -> Any:
    return [each.tolist() for each in module.utils.data.DataLoader(array, batch_size=2)]


def exchanged(module: Any, array: Any) -> Any:
    from mpi4py import MPI

    out = np.empty_like(np.asarray(array))
    MPI.COMM_SELF.Sendrecv(array, 0, recvbuf=out, source=0)
    return out.tolist(), np.asarray(MPI.COMM_SELF.bcast(array)).tolist()


def saved(module: Any, array: Any) -> Any:
    from safetensors.numpy import load, save

    loaded = load(save({"x": array}))["x"]
    return str(loaded.dtype), loaded.tolist()


def image(module: Any, array: Any) -> Any:
    from PIL import Image

    made = Image.fromarray(array)
    return made.mode, made.size, made.tobytes()


def booster(module: Any, array: Any) -> Any:
    matrix = module.DMatrix(array, label=array[:, 0])
    return matrix.get_data().toarray().tolist(), matrix.get_label().tolist()


UNSUPPORTED = "unsupported type 'Tensor'"
ROWS = [
    Row("pandas", "Series", lambda pd, x: (str(pd.Series(x).dtype), pd.Series(x).tolist())),
    Row("pandas", "Index", lambda pd, x: (str(pd.Index(x).dtype), list(pd.Index(x))), "integers"),
    Row("pandas", "DataFrame", lambda pd, x: frame(pd.DataFrame(x)), "matrix"),
    Row("pandas", "DataFrame of columns", lambda pd, x: frame(pd.DataFrame({"a": x, "b": x}))),
    Row("polars", "Series", lambda pl, x: pl.Series(x).to_list(), refuses=UNSUPPORTED),
    Row("polars", "DataFrame", lambda pl, x: pl.DataFrame(x).rows(), "matrix", UNSUPPORTED),
    Row("polars", "DataFrame of columns", lambda pl, x: pl.DataFrame({"a": x}).rows(),
        refuses=UNSUPPORTED),
    Row("xarray", "DataArray", lambda xr, x: (type(xr.DataArray(x).data),
                                              (xr.DataArray(x) + 1).values.tolist()), "matrix"),
    Row("xarray", "Dataset", lambda xr, x: xr.Dataset({"a": ("i", x)}).a.values.tolist()),
    Row("matplotlib", "plot, imshow, hist", plotted),
    Row("matplotlib", "plot, imshow, hist of a matrix", plotted, "matrix"),
    Row("sklearn", "StandardScaler, LinearRegression", scaled, "matrix"),
    Row("sklearn", "train_test_split", split, "matrix", "Use np.asarray(t)[index]"),
    Row("scipy", "convolve, fft, coo_array", computed, "matrix"),
    Row("h5py", "dataset, attribute", written),
    Row("h5py", "dataset, attribute, steps", written, "steps"),
    Row("zarr", "array, assignment", zarr_array, "matrix"),
    Row("PIL", "Image.fromarray", image, "image"),
    Row("cv2", "mean", lambda cv2, x: cv2.mean(x), "image", "not a numpy array"),
    Row("numba", "njit", compiled),
    Row("numba", "vectorize", lambda numba, x: numba.vectorize(lambda y: y + 1)(x).tolist(),
        refuses="pyobject"),
    Row("numba", "njit with a method", lambda numba, x: numba.njit(lambda y: y.sum())(x),
        refuses="Unknown attribute 'sum'"),
    Row("dask.array", "from_array",
        lambda da, x: (da.from_array(x, chunks=2) + 1).compute().tolist(), "matrix"),
    Row("onnxruntime", "ortvalue_from_numpy",
        lambda o, x: o.OrtValue.ortvalue_from_numpy(x).numpy().tolist(), refuses="numpy arrays"),
    Row("xgboost", "DMatrix", booster, "matrix"),
    Row("ray", "put, get", ray_task, "matrix"),
    Row("joblib", "dump, load", dumped, "matrix"),
    Row("joblib", "Parallel", lambda joblib, x: joblib.Parallel(2, "threading")(
        joblib.delayed(np.sum)(x) for _ in range(2))),
    Row("torch", "DataLoader", batches, "matrix", "batch must contain tensors"),
    Row("torch", "tensor", lambda torch, x: (str(torch.tensor(x).dtype), torch.tensor(x).tolist()),
        "matrix"),
    Row("mpi4py", "Sendrecv, bcast", exchanged, "matrix"),
    Row("safetensors", "save", saved, "matrix"),
    Row("safetensors", "save of steps", saved, "image"),
    Row("pyarrow", "array", lambda pa, x: pa.array(x).to_pylist(), refuses="dlbridge.Tensor"),
    Row("pyarrow", "py_buffer", lambda pa, x: pa.py_buffer(x).to_pybytes()),
    Row("jax.numpy", "asarray", lambda jnp, x: jnp.asarray(x).tolist(), "matrix"),
    Row("numpy", "result_type", lambda np, x: (str(np.result_type(x)), np.shape(x)), "integers"),
]  # fmt: skip
