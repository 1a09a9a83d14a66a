"""Checks the ONNX model of every operation and model of the export's tests, runs it, and compares what it answers.

    python onnx_peer_test.py PROGRAM [CASE ...]   PROGRAM is the built tests/peers/onnx_peer

Needs onnx and onnxruntime. Ends with 0 when every model passes onnx's checker, every output agrees to 1e-5 with the C++
model at 1, 2, 7 and 33 rows, none of which the export was traced with, and has the sizes that the model promises.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
import onnx
import onnxruntime as ort

import peer_cases


def session_of(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def check_sizes(described, array, rows):
    promised = [rows if size == "batch" else size for size in described.shape]
    fits = len(promised) == array.ndim and all(isinstance(size, str) or size == got
                                               for size, got in zip(promised, array.shape))
    if not fits:
        raise ValueError(f"{described.name} is {array.shape} where {described.shape} is promised")


def check_names(session, case):
    """The inputs are the model's, and the signatures of the metadata name all outputs."""
    signatures = json.loads(session.get_modelmeta().custom_metadata_map["belfry_signatures"])
    inputs = [value.name for value in session.get_inputs()]
    named = {output["output"] for signature in signatures.values() for output in signature["outputs"]}
    if named != {value.name for value in session.get_outputs()}:
        raise ValueError(f"the metadata name {named}")
    if "serving_default" not in signatures or set(inputs) != set(case["calls"][0]["inputs"]):
        raise ValueError(f"inputs {inputs}, signatures {list(signatures)}")


def load(folder, case):
    path = os.path.join(folder, "onnx", "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    session = session_of(path)
    check_names(session, case)
    if case["name"] == "weights_apart" and not os.path.exists(path + ".data"):
        raise ValueError("the weights are not apart")

    def run(inputs):
        rows = next(iter(inputs.values())).shape[0]
        described = session.get_outputs()
        arrays = session.run(None, inputs)
        for one, array in zip(described, arrays):
            check_sizes(one, array, rows)
        return {one.name: array for one, array in zip(described, arrays)}

    return run


if __name__ == "__main__":
    sys.exit(peer_cases.main(load, f"onnx {onnx.__version__}, ONNX Runtime {ort.__version__}"))
