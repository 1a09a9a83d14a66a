"""Writes the files beside it, which tests/data/npy_test.cpp reads. Needs NumPy 2."""
import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent
numbers = np.arange(6).reshape(2, 3)

arrays = {
    "c_order": numbers.astype("<f4"),
    "fortran": np.asfortranarray(numbers.astype("<f8")),
    "big_endian": numbers.astype(">i4"),
    "bool": numbers % 2 == 0,
    "int8": (numbers - 3).astype("i1"),
    "uint8": (numbers + 250).astype("u1"),
    "int16": (numbers - 3).astype("<i2"),
    "uint16": (numbers + 65530).astype("<u2"),
    "int64": numbers.astype("<i8") << 40,
    "uint32": (numbers + 4294967290).astype("<u4"),
    "uint64": numbers.astype("<u8") << 50,
    "half": (numbers / 4).astype("<f2"),
    "complex64": (numbers + 1j).astype("<c8"),
    "complex128": (numbers - 2j).astype(">c16"),
    "bytes": np.array([[b"a", b"bcd", b""], [b"\xff\x00x", b"ef", b"g"]]),
    "text": np.array(["plain", "gr\u00fcn", "\u20ac", "\U0001f600", ""]),
    "text_fortran": np.asfortranarray(np.array([["a", "b", "c"], ["d", "e", "f"]]).astype(">U2")),
    "scalar": np.float32(2.5),
    "empty": np.zeros((0, 3), "<f4"),
    "slash/inner": np.array([7, 8], "<i8"),
}
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays)
np.save(folder / "version1.npy", arrays["fortran"])
for version in (2, 3):
    with open(folder / f"version{version}.npy", "wb") as file:
        np.lib.format.write_array(file, arrays["c_order"], version=(version, 0))

features = np.array([[1.204, -1.666], [1.313, -0.766], [-1.46, 0.557]], "<f4")
np.savez(folder / "examples.npz", x=features, name=np.array(["a", "b", "c"]), label=np.array([3, 2, 1], "<i8"))
np.savez(folder / "rows_differ.npz", x=features, label=np.array([3, 2], "<i8"))
np.save(folder / "objects.npy", np.array([None, 1], object), allow_pickle=True)
np.save(folder / "records.npy", np.array([(1, 2.0)], [("a", "<i4"), ("b", "<f8")]))
np.save(folder / "dates.npy", np.array(["2020-01-01"], "datetime64[D]"))
