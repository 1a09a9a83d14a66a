// The C++ half of checkpoint_peer_test.py.
//
//   checkpoint_peer compare PREFIX VALUES.json   compares what CheckpointReader reads with what TensorFlow read
//   checkpoint_peer copy PREFIX DIRECTORY        saves all of PREFIX in DIRECTORY as model.ckpt-7
#include <iostream>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "tests/checkpoint/json_values.h"

int main(int argc, char** argv) try {
  using namespace belfry;
  require(argc == 4, "usage: checkpoint_peer compare|copy PREFIX VALUES|DIRECTORY");
  const CheckpointReader reader(argv[2]);
  reader.verify();
  if (std::string(argv[1]) == "compare") {
    const std::string difference = testing::difference(reader, testing::read_json(argv[3]));
    require(difference.empty(), difference);
    return 0;
  }
  CheckpointEntries entries;
  for (const CheckpointVariable& variable : reader.variables()) {
    entries.push_back({variable.name, reader.value(variable.name)});
  }
  std::cout << CheckpointManager(argv[3]).save(7, entries) << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "checkpoint_peer: " << error.what() << '\n';
  return 1;
}
