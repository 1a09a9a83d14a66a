"""Runs every model of the gallery by ONNX Runtime, and compares what it answers with Estimator::predict.

    python gallery_onnx_peer_test.py PROGRAM [MODEL ...]     PROGRAM is the built tests/peers/gallery_peer

Needs onnx and onnxruntime. Models behind a receiver of strings or examples are passed over: ONNX has no strings, and takes
what the receiver makes of them.
"""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import numpy as np
import onnx
import onnxruntime

from peer_cases import difference, to_array


# Ids where a SavedModel has strings.
def named(array, output):
    return np.array([name.encode() for name in output["vocabulary"]], object)[array] if "vocabulary" in output else array


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
            for output, answer in zip(outputs, answers):
                problem = difference(named(answer, output), to_array(wanted[output["name"]]))
                failures += [f"{model['name']}, {signature}: {output['name']}: {problem}"] if problem else []
    return failures


def try_model(model):
    try:
        return check_model(model)
    except Exception as error:  # whatever ONNX Runtime throws, the other models are still of interest
        return [f"{model['name']}: {type(error).__name__} {' '.join(str(error).split())[:300]}"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder] + sys.argv[2:], check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "models.json"), encoding="utf-8") as file:
            models = json.load(file)
        run = [model for model in models if "ONNX" in model["formats"] and not model["has_receiver"]]
        failures = [failure for model in run for failure in try_model(model)]
    print("\n".join(failures + [f"ONNX Runtime {onnxruntime.__version__}: {len(run)} of {len(models)} models run, "
                                f"{len(failures)} failures"]))
    return 1 if failures or not run else 0


if __name__ == "__main__":
    sys.exit(main())
