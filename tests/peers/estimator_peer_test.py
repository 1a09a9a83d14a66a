"""What a trained DNNClassifier leaves: PyTorch and TensorFlow serve its export, and TensorFlow reads its model_dir.

    python estimator_peer_test.py PROGRAM     PROGRAM is the built tests/peers/estimator_peer

Needs torch, tensorflow-cpu 2.15 and numpy < 2. Ends with 0 when predictions agree to 1e-5 and variables to the bit.
"""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import torchscript_peer_test as served
from peer_cases import difference, to_array

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_output(described, got, wanted):
    if wanted["dtype"] != "string":
        return served.difference(got, served.to_tensor(wanted))
    names = [described["vocabulary"][number] for number in got.reshape(-1).tolist()]
    wanted_names = [name.decode() for name in to_array(wanted).reshape(-1)]
    if names != wanted_names or list(got.shape) != wanted["shape"]:
        return f"{names} of {list(got.shape)} instead of {wanted_names} of {wanted['shape']}"
    return None


def check_export(directory, predictions):
    module, description = served.load(directory)
    signature = description["signatures"]["predict"]
    outputs = served.call(module, signature, predictions["inputs"])
    names = [described["name"] for described in signature["outputs"]]
    failures = served.check_variables(module, description)
    if sorted(names) != sorted(predictions["outputs"]):
        return failures + [f"outputs {names} instead of {list(predictions['outputs'])}"]
    for described, got in zip(signature["outputs"], outputs):
        problem = check_output(described, got, predictions["outputs"][described["name"]])
        failures += [f"{described['name']}: {problem}"] if problem else []
    return failures


def check_saved_model(directory, predictions):
    function = tf.saved_model.load(directory).signatures["predict"]
    outputs = function(**{name: tf.constant(to_array(value)) for name, value in predictions["inputs"].items()})
    wanted = predictions["outputs"]
    if sorted(outputs) != sorted(wanted):
        return [f"SavedModel's outputs {sorted(outputs)} instead of {sorted(wanted)}"]
    problems = [(name, difference(outputs[name].numpy(), to_array(wanted[name]))) for name in wanted]
    return [f"SavedModel's {name}: {problem}" for name, problem in problems if problem]


def check_model_dir(directory, variables):
    reader = tf.train.load_checkpoint(directory)
    failures = []
    for name, wanted in variables.items():
        if not reader.has_tensor(name):
            failures.append(f"variable {name} is not there")
            continue
        got = np.asarray(reader.get_tensor(name))
        values = to_array(wanted)
        if got.dtype != values.dtype or got.shape != values.shape or not np.array_equal(got, values):
            failures.append(f"variable {name} is {got.dtype.name} {got.shape}: {got}")
    for name in ("dnn/hiddenlayer_0/kernel", "dnn/hiddenlayer_1/batchnorm_1/moving_mean", "global_step"):
        failures += [] if name in variables else [f"variable {name} was not saved"]
    return failures


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True)
        predictions = read(os.path.join(folder, "predictions.json"))
        variables = read(os.path.join(folder, "variables.json"))
        failures = check_export(run.stdout.strip(), predictions)
        failures += check_saved_model(run.stdout.strip(), predictions)
        failures += check_model_dir(os.path.join(folder, "model"), variables)
    print("\n".join(failures + [f"{len(predictions['outputs'])} outputs and {len(variables)} variables compared, "
                                f"{len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
