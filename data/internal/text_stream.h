// The lines of text files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/file_system.h"
#include "data/internal/line_reader.h"
#include "data/internal/node.h"

namespace belfry::data_internal {

struct TextFile {
  std::string path;
  uint64_t size = 0;
  std::string description;
};

// Turns as those of tf.data's interleave with blocks of one element: a place whose file has ended is filled when its
// turn comes again.
class TextStream : public Stream {
 public:
  // `files`, of which there is at least one, have to outlive this object.
  TextStream(FileSystem& system, const std::vector<TextFile>& files, int64_t cycle_length);

  std::optional<Batch> next() override;
  std::optional<Batch> next_rows(int64_t count) override;
  void save(PositionWriter& to) const override;
  void restore(PositionReader& from) override;

 private:
  struct Place {
    size_t file;
    LineReader lines;
  };

  Place open_place(size_t file) const;
  std::optional<std::string> next_line();

  FileSystem& system_;
  const std::vector<TextFile>& files_;
  std::vector<std::optional<Place>> places_;
  size_t turn_ = 0;
  size_t next_file_ = 0;
};

}  // namespace belfry::data_internal
