"""Runs every model of the gallery by ONNX Runtime, and compares what it answers with Estimator::predict.

    python gallery_onnx_peer_test.py PROGRAM [MODEL ...]     PROGRAM is the built tests/peers/gallery_peer

Needs onnx and onnxruntime. Models behind a receiver of strings or examples are passed over: ONNX has no strings, and takes
what the receiver makes of them.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
import onnx
import onnxruntime

import gallery_cases
from peer_cases import to_array


def check_model(model):
    path = os.path.join(model["path"], "onnx", "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    signatures = json.loads(session.get_modelmeta().custom_metadata_map["belfry_signatures"])
    failures = []
    for call in model["calls"]:
        inputs = {name: to_array(described) for name, described in call["inputs"].items()}
        for signature, wanted in call["answers"].items():
            outputs = signatures[signature]["outputs"]
            answers = session.run([output["output"] for output in outputs], inputs)
            failures += gallery_cases.output_problems(f"{model['name']}, {signature}", outputs, answers, wanted)
    return failures


def takes(model):
    return "ONNX" in model["formats"] and not model["has_receiver"]


if __name__ == "__main__":
    sys.exit(gallery_cases.main(check_model, takes, f"ONNX Runtime {onnxruntime.__version__}"))
