"""Serves every model of the gallery by TensorFlow, and compares what it answers with Estimator::predict.

    python gallery_peer_test.py PROGRAM [MODEL ...]     PROGRAM is the built tests/peers/gallery_peer

Needs tensorflow-cpu 2.15 and numpy < 2. A model whose SavedModel is refused is passed over: which those are, and why, is
said in tests/gallery.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.dont_write_bytecode = True
import tensorflow as tf

import gallery_cases
from peer_cases import difference, to_array


def check_signature(function, call, wanted, what):
    inputs = {name: to_array(described) for name, described in call["inputs"].items()}
    if list(function.structured_input_signature[1]) == ["inputs"]:  # of Classify and Regress, whatever the receiver says
        inputs = {"inputs": next(iter(inputs.values()))}
    outputs = function(**{name: tf.constant(array) for name, array in inputs.items()})
    if set(outputs) != set(wanted):
        return [f"{what}: outputs {sorted(outputs)} instead of {sorted(wanted)}"]
    problems = [(name, difference(outputs[name].numpy(), to_array(wanted[name]))) for name in wanted]
    return [f"{what}: {name}: {problem}" for name, problem in problems if problem]


def check_model(model):
    loaded = tf.saved_model.load(model["path"])
    failures = []
    for call in model["calls"]:
        if sorted(loaded.signatures) != sorted(call["answers"]):
            return [f"{model['name']}: signatures {sorted(loaded.signatures)} instead of {sorted(call['answers'])}"]
        for signature, wanted in call["answers"].items():
            rows = next(iter(call["inputs"].values()))["shape"][0]
            what = f"{model['name']}, {signature} of {rows} rows"
            failures += check_signature(loaded.signatures[signature], call, wanted, what)
    return failures


def takes(model):
    return "SavedModel" in model["formats"]


if __name__ == "__main__":
    sys.exit(gallery_cases.main(check_model, takes, f"TensorFlow {tf.__version__}"))
