#include "data/internal/text_stream.h"

#include <algorithm>

#include "core/error.h"

namespace belfry::data_internal {
namespace {

LineReader open(FileSystem& system, const TextFile& file) {
  std::unique_ptr<RandomAccessFile> opened = system.open(file.path);
  if (opened->size() != file.size) {
    fail(ErrorKind::kFailedPrecondition, "'", file.path, "' has changed: it had ", file.size,
         " bytes when the data set was made, and now it has ", opened->size());
  }
  return {std::move(opened), file.size};
}

Batch as_element(std::vector<std::string> lines, std::vector<int64_t> sizes) {
  return {Features(StringTensor(std::move(lines), std::move(sizes))), {}};
}

size_t index(PositionReader& from, size_t limit) {
  return static_cast<size_t>(from.number(static_cast<int64_t>(limit)));
}

}  // namespace

TextStream::TextStream(FileSystem& system, const std::vector<TextFile>& files, int64_t cycle_length)
    : system_(system), files_(files), places_(std::min(static_cast<size_t>(cycle_length), files.size())) {}

std::optional<Batch> TextStream::next() {
  std::optional<std::string> line = next_line();
  if (!line) return std::nullopt;
  return as_element({*std::move(line)}, {});
}

std::optional<Batch> TextStream::next_rows(int64_t count) {
  std::vector<std::string> lines;
  while (static_cast<int64_t>(lines.size()) < count) {
    std::optional<std::string> line = next_line();
    if (!line) break;
    lines.push_back(*std::move(line));
  }
  if (lines.empty()) return std::nullopt;
  const auto rows = static_cast<int64_t>(lines.size());
  return as_element(std::move(lines), {rows});
}

void TextStream::save(PositionWriter& to) const {
  to.number(static_cast<int64_t>(turn_));
  to.number(static_cast<int64_t>(next_file_));
  for (const std::optional<Place>& place : places_) {
    to.number(place.has_value());
    if (!place) continue;
    to.number(static_cast<int64_t>(place->file));
    to.number(static_cast<int64_t>(place->lines.offset()));
  }
}

void TextStream::restore(PositionReader& from) {
  turn_ = index(from, places_.size() - 1);
  next_file_ = index(from, files_.size());
  for (std::optional<Place>& place : places_) {
    place.reset();
    if (!from.flag()) continue;
    place = open_place(index(from, files_.size() - 1));
    place->lines.seek(index(from, files_[place->file].size));
  }
}

TextStream::Place TextStream::open_place(size_t file) const { return {file, open(system_, files_[file])}; }

std::optional<std::string> TextStream::next_line() {
  for (size_t empty = 0; empty < places_.size();) {
    std::optional<Place>& place = places_[turn_];
    if (!place && next_file_ < files_.size()) {
      place = open_place(next_file_);
      ++next_file_;
    }
    std::optional<std::string> line = place ? place->lines.next() : std::nullopt;
    turn_ = (turn_ + 1) % places_.size();
    if (line) return line;
    place.reset();
    empty = next_file_ < files_.size() ? 0 : empty + 1;
  }
  return std::nullopt;
}

}  // namespace belfry::data_internal
