// Writes the events that events_peer_test.py expects into the folder it is given.
#include <torch/types.h>

#include <cstdio>

#include "core/file_system.h"
#include "estimator/summaries/event_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: events_peer FOLDER\n");
    return 2;
  }
  belfry::EventFileWriter writer(argv[1], belfry::posix_file_system());
  writer.add_session_start(1);
  for (int step = 1; step <= 50; ++step) writer.add_scalar("loss", 1.0 / step, step);
  writer.add_scalars({{"global_step/sec", 350}, {"accuracy", 0.75}}, 50);
  writer.add_text("checkpoint_path", "run/model.ckpt-50", 50);
  writer.add_histogram("dnn/logits/activation", torch::arange(-5, 6), 50);
  writer.add_tensor("confusion", torch::arange(6, torch::kDouble).view({2, 3}), 50);
  return 0;
}
