"""Serves an export by Python's torch.jit.load, without Belfry, and compares what it answers.

    python torchscript_peer_test.py PROGRAM                      PROGRAM is the built tests/peers/torchscript_peer
    python torchscript_peer_test.py EXPORT_DIRECTORY CASES_JSON  for what it wrote: each case has a signature, its inputs
                                                                 and the outputs of the C++ model

Needs torch (any build that reads the file, without GPU too). Ends with 0 when every output agrees to 1e-5, and with 77,
which ctest shows as skipped, where torch is missing.
"""

import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as missing:
    print(f"skipped: {sys.executable} has no torch ({missing})")
    sys.exit(77)

TOLERANCE = 1e-5


def to_tensor(described):
    dtype = getattr(torch, described["dtype"])
    return torch.tensor(described["values"], dtype=dtype).reshape(described["shape"])


def load(directory):
    extra_files = {"belfry_signature.json": ""}
    path = os.path.join(directory, "torchscript", "model.pt")
    module = torch.jit.load(path, _extra_files=extra_files).eval()
    return module, json.loads(extra_files["belfry_signature.json"])


def call(module, signature, inputs):
    arguments = [to_tensor(inputs[described["name"]]) for described in signature["inputs"]]
    with torch.no_grad():
        outputs = getattr(module, signature["method"])(*arguments)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def difference(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype} {tuple(got.shape)} instead of {wanted.dtype} {tuple(wanted.shape)}"
    if torch.allclose(got.double(), wanted.double(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return None
    return f"differs by up to {(got.double() - wanted.double()).abs().max().item()}"


def check_variables(module, description):
    served = dict(module.named_parameters()) | dict(module.named_buffers())
    return [f"variable {v['name']}: no attribute {v['attribute']}" for v in description["variables"]
            if v["attribute"] not in served]


def check_case(module, description, case):
    signature = description["signatures"][case["signature"]]
    outputs = call(module, signature, case["inputs"])
    names = [described["name"] for described in signature["outputs"]]
    if sorted(names) != sorted(case["outputs"]) or len(names) != len(outputs):
        return [f"{case['signature']}: outputs {names} instead of {list(case['outputs'])}"]
    problems = {name: difference(output, to_tensor(case["outputs"][name])) for name, output in zip(names, outputs)}
    return [f"{case['signature']}/{name}: {problem}" for name, problem in problems.items() if problem]


def compare(directory, cases_path):
    module, description = load(directory)
    with open(cases_path, encoding="utf-8") as file:
        cases = json.load(file)
    failures = check_variables(module, description)
    for case in cases:
        failures += check_case(module, description, case)
    print("\n".join(failures + [f"torch {torch.__version__}: {len(cases)} calls compared, {len(failures)} failures"]))
    return 1 if failures or not cases else 0


def main():
    if len(sys.argv) == 3:
        return compare(sys.argv[1], sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        directory = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True).stdout.strip()
        return compare(directory, os.path.join(folder, "cases.json"))


if __name__ == "__main__":
    sys.exit(main())
