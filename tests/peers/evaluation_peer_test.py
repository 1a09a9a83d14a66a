"""TensorFlow runs the exported graph of an evaluation, and its metrics are those of Estimator::evaluate; and the graph of
the predictions that stands beside it in the same file.

    python evaluation_peer_test.py PROGRAM     PROGRAM is the built tests/peers/evaluation_peer

Needs tensorflow-cpu 2.15 and numpy < 2. Ends with 0 when the metrics of one batch agree to 1e-5.
"""

import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.dont_write_bytecode = True
import numpy as np
import tensorflow as tf

from peer_cases import difference, to_array


def check_predictions(path, evaluation):
    loaded = tf.saved_model.load(path, tags=["serve"])
    features = {name: tf.constant(to_array(described)) for name, described in evaluation["inputs"].items() if name != "label"}
    outputs = {name: value.numpy() for name, value in loaded.signatures["predict"](**features).items()}
    problems = [(name, difference(outputs[name], to_array(evaluation["predictions"][name])))
                for name in outputs if name in evaluation["predictions"]]
    failures = [f"predict: {name}: {problem}" for name, problem in problems if problem]
    return failures if problems else [f"predict: outputs {sorted(outputs)}, predictions {sorted(evaluation['predictions'])}"]


def check(path, evaluation):
    loaded = tf.saved_model.load(path, tags=["eval"])  # variables live as long as this does
    inputs = {name: tf.constant(to_array(described)) for name, described in evaluation["inputs"].items()}
    outputs = {name: value.numpy() for name, value in loaded.signatures["eval"](**inputs).items()}
    wanted = {f"metrics/{name}/{part}": value for name, value in evaluation["metrics"].items()
              for part in ("value", "update_op") if name not in ("loss", "global_step")}
    wanted["loss"] = evaluation["metrics"]["loss"]
    missing = [f"no output {name} among {sorted(outputs)}" for name in wanted if name not in outputs]
    problems = [(name, difference(np.asarray(outputs[name], np.float64), np.asarray(wanted[name], np.float64)))
                for name in wanted if name in outputs]
    failures = missing + [f"{name}: {problem}" for name, problem in problems if problem]
    return wanted, failures + check_predictions(path, evaluation)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True)
        with open(os.path.join(folder, "evaluation.json"), encoding="utf-8") as file:
            wanted, failures = check(run.stdout.strip(), json.load(file))
    print("\n".join(failures + [f"TensorFlow {tf.__version__}: {len(wanted)} outputs of an evaluation compared, "
                                f"{len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
