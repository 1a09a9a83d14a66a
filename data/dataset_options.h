// What a data set says about its use, rather than about its elements.
#pragma once

#include <cstdint>

namespace belfry {

// How a data set is divided among the workers of a strategy, see Dataset::auto_shard.
enum class AutoShardPolicy {
  kAuto,  // kFile where the source is files, else kData
  kFile,  // whole files: worker i reads the files i, i + workers …
  kData,  // elements (batches, when they are): worker i takes i, i + workers …
  kOff,   // every worker reads everything
  kHint,  // where Dataset::shard was given kShardHint, and nowhere else
};

// "auto", "file", "data", "off", "hint".
const char* to_string(AutoShardPolicy policy);

// For both arguments of Dataset::shard: a place holder for the number of workers and the index of this one.
inline constexpr int64_t kShardHint = -1;

// tf.data's num_devices is not here: whoever distributes a data set knows its devices.
struct DistributeOptions {
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::kAuto;
};

// They change no element, so they are no part of Dataset::describe and of its fingerprint.
struct DatasetOptions {
  DistributeOptions distribute = {};
};

}  // namespace belfry
