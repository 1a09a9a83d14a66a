"""Serves models of strings and examples by TensorFlow's loaders, and compares what they answer with C++'s Predictor.

    python serving_peer_test.py PROGRAM     PROGRAM is the built tests/peers/serving_peer

Needs tensorflow-cpu 2.15 and numpy < 2. The loaders: tf.saved_model.load, the one of TensorFlow 1, TensorFlow's command
line, and the C++ loader that TensorFlow Serving links, by its C interface.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.dont_write_bytecode = True
import numpy as np
import tensorflow as tf

from peer_cases import difference, to_array

METHODS = {
    "raw_strings": {"serving_default": "predict"},
    "examples": {"serving_default": "classify", "regression": "regress", "predict": "predict"},
    "alternative": {"serving_default": "regress", "tensors:serving_default": "predict"},
}


def compare(outputs, wanted, what):
    if sorted(outputs) != sorted(wanted):
        return [f"{what}: outputs {sorted(outputs)} instead of {sorted(wanted)}"]
    problems = [(name, difference(np.asarray(outputs[name]), to_array(wanted[name]))) for name in wanted]
    return [f"{what}: {name}: {problem}" for name, problem in problems if problem]


# Classify and Regress name their input "inputs" whatever the receiver does.
def named_inputs(call, signature):
    arrays = {name: to_array(described) for name, described in call["inputs"].items()}
    return {"inputs": next(iter(arrays.values()))} if list(signature) == ["inputs"] else arrays


def check_tensorflow_2(model):
    loaded = tf.saved_model.load(model["path"])
    failures = []
    for call in model["calls"]:
        for name, wanted in call["answers"].items():
            function = loaded.signatures[name]
            inputs = named_inputs(call, function.structured_input_signature[1])
            outputs = function(**{key: tf.constant(array) for key, array in inputs.items()})
            failures += compare({key: value.numpy() for key, value in outputs.items()}, wanted, f"TF2 {model['name']} {name}")
    return failures


def check_tensorflow_1(model):
    failures = []
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        signatures = tf.compat.v1.saved_model.load(session, ["serve"], model["path"]).signature_def
        methods = {name: signature.method_name.rsplit("/", 1)[1] for name, signature in signatures.items()}
        if methods != METHODS[model["name"]]:
            failures.append(f"TF1 {model['name']}: methods {methods}")
        for call in model["calls"]:
            for name, wanted in call["answers"].items():
                signature = signatures[name]
                feed = {signature.inputs[key].name: array for key, array in named_inputs(call, signature.inputs).items()}
                outputs = session.run({key: info.name for key, info in signature.outputs.items()}, feed)
                failures += compare(outputs, wanted, f"TF1 {model['name']} {name}")
    return failures


TOOL = [sys.executable, "-c", "from tensorflow.python.tools.saved_model_cli import main; main()"]


def run_command_line(model, folder):
    """What saved_model_cli answers to the last request, as the files that it writes."""
    signature = next(iter(METHODS[model["name"]]))
    call = model["calls"][-1]
    if "examples" in call["inputs"]:
        return []  # examples hold zero bytes, which its files of fixed width cut off
    files = []
    for name, described in call["inputs"].items():
        path = os.path.join(folder, name + ".npy")
        array = to_array(described)
        np.save(path, array.astype("S") if described["dtype"] == "string" else array)
        files.append(f"{name}={path}")
    answers = os.path.join(folder, model["name"] + "_answers")
    run = subprocess.run(TOOL + ["run", "--dir", model["path"], "--tag_set", "serve", "--signature_def", signature,
                                 "--inputs", ";".join(files), "--outdir", answers, "--overwrite"], capture_output=True, text=True)
    if run.returncode != 0:
        return [f"saved_model_cli run {model['name']}: {run.stderr[-300:]}"]
    outputs = {name[:-len(".npy")]: np.load(os.path.join(answers, name), allow_pickle=True) for name in os.listdir(answers)}
    return compare(outputs, call["answers"][signature], f"saved_model_cli run {model['name']}")


def check_command_line(model, folder):
    show = subprocess.run(TOOL + ["show", "--dir", model["path"], "--all"], capture_output=True, text=True)
    scan = subprocess.run(TOOL + ["scan", "--dir", model["path"], "--tag_set", "serve"], capture_output=True, text=True)
    failures = [f"saved_model_cli {model['name']}: {done.stderr[-300:]}" for done in (show, scan) if done.returncode != 0]
    if "does not contain the default denylisted ops" not in scan.stdout:
        failures.append(f"saved_model_cli scan {model['name']}: {scan.stdout[-300:]}")
    return failures + run_command_line(model, folder)


# The loader that servers link, by TensorFlow's C interface.
def check_c_loader(model):
    library = ctypes.CDLL(os.path.join(os.path.dirname(tf.__file__), "libtensorflow_cc.so.2"))
    for name in ("TF_NewStatus", "TF_NewSessionOptions", "TF_NewGraph", "TF_LoadSessionFromSavedModel"):
        getattr(library, name).restype = ctypes.c_void_p
    library.TF_Message.restype = ctypes.c_char_p
    status = ctypes.c_void_p(library.TF_NewStatus())
    tags = (ctypes.c_char_p * 1)(b"serve")
    library.TF_LoadSessionFromSavedModel(ctypes.c_void_p(library.TF_NewSessionOptions()), None, model["path"].encode(),
                                         tags, 1, ctypes.c_void_p(library.TF_NewGraph()), None, status)
    if library.TF_GetCode(status) == 0:
        return []
    return [f"C++ loader {model['name']}: {library.TF_Message(status).decode()[:300]}"]


# An alternative takes tensors in place of examples.
def check_alternative(model):
    function = tf.saved_model.load(model["path"]).signatures["tensors:serving_default"]
    outputs = function(x=tf.constant([[1.0, 2.0]]))
    return compare({key: value.numpy() for key, value in outputs.items()}, model["calls"][0]["answers"]["serving_default"],
                   "alternative")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        with open(os.path.join(folder, "models.json"), encoding="utf-8") as file:
            models = json.load(file)
        os.remove(os.path.join(folder, "colors.txt"))  # the export has its own
        failures = []
        for model in models:
            moved = model["path"] + "1"  # an export is served from anywhere
            shutil.move(model["path"], moved)
            model["path"] = moved
            failures += check_tensorflow_2(model) + check_tensorflow_1(model) + check_c_loader(model)
            failures += check_command_line(model, folder)
        failures += check_alternative(models[-1])
    print("\n".join(failures + [f"TensorFlow {tf.__version__}: {len(models)} models served, {len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
