"""Runs the TorchScript of every model of the gallery by Python's torch.jit.load, and compares what it answers with
Estimator::predict.

    python gallery_torch_peer_test.py PROGRAM [MODEL ...]     PROGRAM is the built tests/peers/gallery_peer

Needs torch, and ends with 77, which ctest shows as skipped, where it is missing. Models behind a receiver of strings or
examples are passed over: TorchScript takes what the receiver makes of them.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
try:
    import torch
except ImportError as missing:
    print(f"skipped: {sys.executable} has no torch ({missing})")
    sys.exit(77)

import gallery_cases
from peer_cases import to_array


def load(path):
    extra_files = {"belfry_signature.json": ""}
    module = torch.jit.load(os.path.join(path, "torchscript", "model.pt"), _extra_files=extra_files).eval()
    return module, json.loads(extra_files["belfry_signature.json"])["signatures"]


def run(module, signature, call):
    inputs = [torch.from_numpy(to_array(call["inputs"][described["name"]])) for described in signature["inputs"]]
    with torch.no_grad():
        outputs = getattr(module, signature["method"])(*inputs)
    return [output.numpy() for output in (outputs if isinstance(outputs, tuple) else (outputs,))]


def check_model(model):
    module, signatures = load(model["path"])
    failures = []
    for call in model["calls"]:
        for name, wanted in call["answers"].items():
            answers = run(module, signatures[name], call)
            what = f"{model['name']}, {name}"
            failures += gallery_cases.output_problems(what, signatures[name]["outputs"], answers, wanted)
    return failures


def takes(model):
    return "TorchScript" in model["formats"] and not model["has_receiver"]


if __name__ == "__main__":
    sys.exit(gallery_cases.main(check_model, takes, f"PyTorch {torch.__version__}"))
