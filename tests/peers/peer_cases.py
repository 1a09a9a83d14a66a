"""What peers share: values, the comparison, and the cases.json and tensors of tests/peers/export_peer.h."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 1e-5


def to_array(described):
    """A value as tests/peers/described.h writes it: strings are an array of objects, each of them bytes."""
    if described["dtype"] == "string":
        values = np.array([bytes.fromhex(value) for value in described["values"]] + [None], object)[:-1]
    else:
        values = np.asarray(described["values"], described["dtype"])
    return values.reshape(described["shape"])


def read_array(described, data):
    dtype = np.dtype(described["dtype"])
    count = int(np.prod(described["shape"], dtype=np.int64))
    return np.frombuffer(data, dtype, count, described["offset"]).reshape(described["shape"])


def read_arrays(described, data):
    return {name: read_array(one, data) for name, one in described.items()}


def difference(got, wanted, equal_nan=False):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype} {got.shape} instead of {wanted.dtype} {wanted.shape}"
    if wanted.dtype == object:
        return None if (got == wanted).all() else f"{got.tolist()} instead of {wanted.tolist()}"
    with np.errstate(invalid="ignore"):
        if np.allclose(got.astype(float), wanted.astype(float), TOLERANCE, TOLERANCE, equal_nan=equal_nan):
            return None
        return f"differs by up to {np.nanmax(np.abs(got.astype(float) - wanted.astype(float)))}"


def call_problems(call, data, run):
    """run takes the inputs and gives the outputs, both by name."""
    inputs = read_arrays(call["inputs"], data)
    rows = next(iter(inputs.values())).shape[0]
    outputs = run(inputs)
    if sorted(outputs) != sorted(call["outputs"]):
        return [f"outputs {list(outputs)} instead of {list(call['outputs'])}"]
    wanted = read_arrays(call["outputs"], data)
    problems = [(name, difference(outputs[name], wanted[name], equal_nan=True)) for name in wanted]
    return [f"{name} with {rows} rows: {problem}" for name, problem in problems if problem]


def case_problems(case, data, load):
    if "error" in case:
        return [f"{case['name']} is not exported: {case['error']}"]
    return [f"{case['name']}: {problem}" for path in case["paths"] for problem in export_problems(path, case, data, load)]


def export_problems(path, case, data, load):
    """load takes an export's path and its case and gives what call_problems runs."""
    try:
        run = load(path, case)
        return [problem for call in case["calls"] for problem in call_problems(call, data, run)]
    except Exception as error:  # whatever the peer throws, the other cases are still of interest
        return [f"{type(error).__name__} {' '.join(str(error).split())[:300]}"]


def compare(folder, wanted, load, peer):
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        cases = [case for case in json.load(file) if not wanted or case["name"] in wanted]
    with open(os.path.join(folder, "tensors"), "rb") as file:
        data = file.read()
    failures = [failure for case in cases for failure in case_problems(case, data, load)]
    count = sum(len(case.get("paths", [])) for case in cases)
    print("\n".join(failures + [f"{peer}: {count} exports of {len(cases)} models compared, {len(failures)} failures"]))
    return 1 if failures or not cases else 0


def main(load, peer):
    """Runs PROGRAM [CASE ...] of the command line and gives the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        return compare(folder, set(sys.argv[2:]), load, peer)
