"""What the peers of the gallery share: the run of gallery_peer, and its models.json."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from peer_cases import difference, to_array


def with_names(array, output):
    """Strings, as Estimator::predict and a SavedModel have them, where a format has ids and a vocabulary."""
    return np.array([name.encode() for name in output["vocabulary"]], object)[array] if "vocabulary" in output else array


def output_problems(what, outputs, answers, wanted):
    """`outputs`: as the description in the export has them, without the names of the columns of scores."""
    if len(outputs) != len(answers):
        return [f"{what}: {len(answers)} outputs instead of {len(outputs)}"]
    problems = []
    for output, answer in zip(outputs, answers):
        problem = difference(with_names(answer, output), to_array(wanted[output["name"]]))
        problems += [f"{what}: {output['name']}: {problem}"] if problem else []
    return problems


def try_model(model, check_model):
    try:
        return check_model(model)
    except Exception as error:  # whatever the peer throws, the other models are still of interest
        return [f"{model['name']}: {type(error).__name__} {' '.join(str(error).split())[:300]}"]


def main(check_model, takes, peer):
    """Runs PROGRAM [MODEL ...] of the command line and gives the exit status. check_model gives the failures of a model;
    those that `takes` denies are passed over."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder] + sys.argv[2:], check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "models.json"), encoding="utf-8") as file:
            models = json.load(file)
        served = [model for model in models if takes(model)]
        failures = [failure for model in served for failure in try_model(model, check_model)]
    print("\n".join(failures + [f"{peer}: {len(served)} of {len(models)} models served, {len(failures)} failures"]))
    return 1 if failures or not served else 0
