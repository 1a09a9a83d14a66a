"""Serves the SavedModel of every operation and model of the export's tests by TensorFlow, and compares what it answers.

    python saved_model_peer_test.py PROGRAM [CASE ...]   PROGRAM is the built tests/peers/saved_model_peer

Needs tensorflow-cpu 2.15 and numpy < 2. Ends with 0 when every output agrees to 1e-5 with the C++ model at 1, 2, 7 and
33 rows, none of which the export was traced with.
"""

import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

TOLERANCE = 1e-5


def to_array(described, data):
    dtype = np.dtype(described["dtype"])
    count = int(np.prod(described["shape"], dtype=np.int64))
    return np.frombuffer(data, dtype, count, described["offset"]).reshape(described["shape"])


def difference(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype} {got.shape} instead of {wanted.dtype} {wanted.shape}"
    with np.errstate(invalid="ignore"):
        if np.allclose(got.astype(float), wanted.astype(float), TOLERANCE, TOLERANCE, equal_nan=True):
            return None
        return f"differs by up to {np.nanmax(np.abs(got.astype(float) - wanted.astype(float)))}"


def check_call(function, call, data):
    inputs = {name: tf.constant(to_array(described, data)) for name, described in call["inputs"].items()}
    outputs = function(**inputs)
    if sorted(outputs) != sorted(call["outputs"]):
        return [f"outputs {list(outputs)} instead of {list(call['outputs'])}"]
    rows = next(iter(inputs.values())).shape[0]
    problems = [(name, difference(outputs[name].numpy(), to_array(described, data)))
                for name, described in call["outputs"].items()]
    return [f"{name} with {rows} rows: {problem}" for name, problem in problems if problem]


def check_case(case, data):
    if "error" in case:
        return [f"{case['name']} is not exported: {case['error']}"]
    return [f"{case['name']}: {problem}" for path in case["paths"] for problem in check_export(path, case["calls"], data)]


def check_export(path, calls, data):
    try:
        loaded = tf.saved_model.load(path)  # variables live as long as this does
        return [problem for call in calls for problem in check_call(loaded.signatures["serving_default"], call, data)]
    except Exception as error:  # whatever TensorFlow throws, the other cases are still of interest
        return [f"{type(error).__name__} {' '.join(str(error).split())[:300]}"]


def compare(folder, wanted):
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        cases = [case for case in json.load(file) if not wanted or case["name"] in wanted]
    with open(os.path.join(folder, "tensors"), "rb") as file:
        data = file.read()
    failures = [failure for case in cases for failure in check_case(case, data)]
    count = sum(len(case.get("paths", [])) for case in cases)
    print("\n".join(failures + [f"TensorFlow {tf.__version__}: {count} SavedModels of {len(cases)} cases compared, "
                                f"{len(failures)} failures"]))
    return 1 if failures or not cases else 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        return compare(folder, set(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
