"""TensorBoard's own reader sees what Belfry's EventFileWriter wrote."""
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util


def check(name, actual, expected):
    if actual != expected:
        sys.exit(f"{name}: read {actual!r}, expected {expected!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        events = event_accumulator.EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        events.Reload()

        check("file version", events.file_version, 2.0)
        losses = events.Scalars("loss")
        check("loss steps", [event.step for event in losses], list(range(1, 51)))
        check("loss values", [round(event.value * event.step, 5) for event in losses], [1.0] * 50)
        check("scalar tags", sorted(events.Tags()["scalars"]), ["accuracy", "global_step/sec", "loss"])

        text = events.Tensors("checkpoint_path")[0]
        check("text", tensor_util.make_ndarray(text.tensor_proto).item(), b"run/model.ckpt-50")
        check("text plugin", events.SummaryMetadata("checkpoint_path").plugin_data.plugin_name, "text")

        histogram = events.Histograms("dnn/logits/activation")[0].histogram_value
        check("histogram", (histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares),
              (-5.0, 5.0, 11.0, 0.0, 110.0))
        check("histogram buckets", sum(histogram.bucket), 11.0)

        confusion = tensor_util.make_ndarray(events.Tensors("confusion")[0].tensor_proto)
        check("tensor", (str(confusion.dtype), confusion.tolist()), ("float64", [[0, 1, 2], [3, 4, 5]]))
    print("TensorBoard reads scalars, texts, histograms and tensors as written")


if __name__ == "__main__":
    main()
