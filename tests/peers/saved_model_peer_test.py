"""Serves the SavedModel of every operation and model of the export's tests by TensorFlow, and compares what it answers.

    python saved_model_peer_test.py PROGRAM [CASE ...]   PROGRAM is the built tests/peers/saved_model_peer

Needs tensorflow-cpu 2.15 and numpy < 2. Ends with 0 when every output agrees to 1e-5 with the C++ model at 1, 2, 7 and
33 rows, none of which the export was traced with.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.dont_write_bytecode = True
import tensorflow as tf

import peer_cases


def load(path, _):
    model = tf.saved_model.load(path)  # variables live as long as this does

    def run(inputs):
        outputs = model.signatures["serving_default"](**{name: tf.constant(x) for name, x in inputs.items()})
        return {name: y.numpy() for name, y in outputs.items()}

    return run


if __name__ == "__main__":
    sys.exit(peer_cases.main(load, f"TensorFlow {tf.__version__}"))
