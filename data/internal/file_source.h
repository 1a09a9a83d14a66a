// Sources that are divided file by file.
#pragma once

#include "data/internal/node.h"

namespace belfry::data_internal {

class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual int64_t files() const = 0;
  // A source of the files index, index + count …, of which there is at least one.
  virtual NodePtr shard_files(int64_t count, int64_t index) const = 0;
};

// Null for what is no source of files.
inline const FileSource* as_files(const Node& node) { return dynamic_cast<const FileSource*>(&node); }

}  // namespace belfry::data_internal
