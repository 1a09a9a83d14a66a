#include "estimator/summaries/event_writer.h"

#include <cmath>
#include <limits>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "estimator/summaries/event_reader.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using belfry::EventFileWriter;
using belfry::FileSystem;
using belfry::posix_file_system;
using belfry::SummaryEvent;
using belfry::SummaryHistogram;
using belfry::testing::FaultInjectingFileSystem;
using belfry::testing::FileOperation;
using belfry::testing::TemporaryDirectory;
using Catch::Contains;

namespace {

std::vector<SummaryEvent> events_of(const std::string& path) {
  belfry::EventFileReader reader(posix_file_system(), path);
  std::vector<SummaryEvent> events;
  SummaryEvent event;
  while (reader.next(event)) events.push_back(event);
  return events;
}

std::vector<SummaryEvent> events_in(const std::string& directory) {
  std::vector<SummaryEvent> all;
  for (const std::string& path : belfry::list_event_files(posix_file_system(), directory))
    for (const SummaryEvent& event : events_of(path)) all.push_back(event);
  return all;
}

size_t scalars_in(const std::string& directory) {
  size_t count = 0;
  for (const auto& [step, scalars] : belfry::read_scalars(posix_file_system(), directory)) count += scalars.size();
  return count;
}

}  // namespace

TEST_CASE("scalars, texts and the start of a session come back with their steps and tags", "[summaries][E6][G12]") {
  const TemporaryDirectory folder;
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    writer.add_session_start(7);
    writer.add_scalar("loss", 0.1, 8);
    writer.add_scalars({{"loss", std::nan("")}, {"dnn/hiddenlayer_0/fraction_of_zero_values", 0.5}}, 9);
    writer.add_text("checkpoint_path", "run/model.ckpt-9", 9);
    writer.add_scalars({}, 10);
  }
  const auto events = events_in(folder.path());
  REQUIRE(events.size() == 5);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK(events[1].session_start);
  CHECK(events[1].step == 7);
  CHECK(events[2].values.at(0).tag == "loss");
  CHECK(std::get<double>(events[2].values[0].value) == Approx(0.1));
  CHECK(std::isnan(std::get<double>(events[3].values.at(0).value)));
  CHECK(events[3].values.at(1).tag == "dnn/hiddenlayer_0/fraction_of_zero_values");
  CHECK(events[4].step == 9);
  CHECK(std::get<std::string>(events[4].values.at(0).value) == "run/model.ckpt-9");
  for (size_t i = 1; i < events.size(); ++i) CHECK(events[i].wall_time >= events[i - 1].wall_time);
  CHECK(events[0].wall_time > 1.6e9);
}

TEST_CASE("a histogram has the tensor's moments, and buckets that hold each element", "[summaries]") {
  const TemporaryDirectory folder;
  const at::Tensor values = torch::tensor({{-2.0, 0.0, 0.0}, {1e-15, 3.0, 1e25}}, torch::kDouble);
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    writer.add_histogram("weights", values, 1);
    writer.add_histogram("counts", torch::tensor({3, 3, 4}), 1);
    writer.add_histogram("nothing", torch::zeros({0}), 1);
  }
  const auto events = events_in(folder.path());
  REQUIRE(events.size() == 3);
  const auto histogram = std::get<SummaryHistogram>(events[1].values.at(0).value);
  CHECK(histogram.min == -2);
  CHECK(histogram.max == 1e25);
  CHECK(histogram.num == 6);
  CHECK(histogram.sum == Approx(1e25));
  CHECK(histogram.sum_squares == Approx(1e50));
  REQUIRE(histogram.buckets.size() == histogram.bucket_limits.size());
  double below = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < histogram.buckets.size(); ++i) {
    const double end = histogram.bucket_limits[i];
    CHECK(histogram.buckets[i] == values.ge(below).logical_and(values.lt(end)).sum().item<double>());
    below = end;
  }
  CHECK(histogram.buckets.size() < 12);  // runs of empty buckets are one
}

TEST_CASE("a histogram of what is not finite is refused and the writer goes on", "[summaries]") {
  const TemporaryDirectory folder;
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    const at::Tensor bad = torch::tensor({1.0, std::nan(""), std::numeric_limits<double>::infinity()});
    CHECK_THROWS_WITH(writer.add_histogram("dnn/logits", bad, 1), Contains("dnn/logits") && Contains("2 of 3"));
    CHECK_THROWS_WITH(writer.add_histogram("none", {}, 1), Contains("none"));
    writer.add_scalar("loss", 1, 1);
  }
  CHECK(scalars_in(folder.path()) == 1);
}

TEST_CASE("a tensor comes back with shape, dtype and elements, and is no scalar", "[summaries][E124]") {
  const at::Tensor confusion = torch::tensor({{5.0, 1.0, 0.0}, {2.0, 7.5, 1.0}});
  const at::Tensor all[] = {confusion,
                            confusion.t(),
                            torch::tensor({1, 2, -3}, torch::kLong),
                            torch::tensor({true, false}),
                            torch::tensor({0.25, 0.5}, torch::kHalf),
                            torch::tensor(3.5, torch::kDouble),
                            torch::zeros({0, 4})};
  const TemporaryDirectory folder;
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    for (const at::Tensor& tensor : all) writer.add_tensor("confusion", tensor, 12);
    CHECK_THROWS_WITH(writer.add_tensor("absent", {}, 12), Contains("absent"));
    CHECK_THROWS_WITH(writer.add_tensor("sparse", confusion.to_sparse(), 12), Contains("sparse"));
    CHECK_THROWS_WITH(writer.add_tensor("quantized", torch::zeros({1}, torch::kComplexHalf), 12),
                      Contains("quantized") && Contains("ComplexHalf"));
  }
  const auto events = events_in(folder.path());
  REQUIRE(events.size() == 1 + std::size(all));
  for (size_t i = 0; i < std::size(all); ++i) {
    CHECK(events[i + 1].step == 12);
    CHECK(events[i + 1].values.at(0).tag == "confusion");
    const auto& read = std::get<at::Tensor>(events[i + 1].values[0].value);
    CHECK(read.scalar_type() == all[i].scalar_type());
    CHECK(torch::equal(read, all[i]));
  }
  CHECK(scalars_in(folder.path()) == 0);
}

TEST_CASE("each writer has a file of its own, named as TensorBoard wants it", "[summaries]") {
  const TemporaryDirectory folder;
  const std::string nested = folder.file("eval_test");
  EventFileWriter first(nested, posix_file_system());
  EventFileWriter second(nested, posix_file_system());
  EventFileWriter third(nested, posix_file_system());
  first.add_scalar("loss", 1, 1);
  second.add_scalar("loss", 2, 2);
  third.add_scalar("loss", 3, 3);
  for (EventFileWriter* writer : {&first, &second, &third}) writer->flush();
  CHECK(belfry::list_event_files(posix_file_system(), nested).size() == 3);
  CHECK_THAT(first.path(), Contains(nested + "/events.out.tfevents."));
  CHECK(belfry::read_scalars(posix_file_system(), nested).size() == 3);
}

TEST_CASE("events wait for the flush interval, and a flush writes them", "[summaries]") {
  const TemporaryDirectory folder;
  EventFileWriter writer(folder.path(), posix_file_system(), {.flush_secs = 3600});
  writer.add_scalar("loss", 1, 1);  // the first one is shown at once
  writer.add_scalar("loss", 1, 2);
  CHECK(scalars_in(folder.path()) == 1);
  writer.flush();
  CHECK(scalars_in(folder.path()) == 2);
  CHECK_THROWS_WITH(EventFileWriter(folder.path(), posix_file_system(), {.flush_secs = -1}), Contains("-1"));
}

TEST_CASE("a file cut anywhere gives the events before the cut", "[summaries]") {
  const TemporaryDirectory folder;
  std::string path;
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    for (int step = 1; step <= 5; ++step) writer.add_scalar("loss", step, step);
    path = writer.path();
  }
  const std::string whole = belfry::read_file(posix_file_system(), path);
  const std::string cut_path = folder.file("cut");
  size_t before = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    belfry::write_file_atomically(posix_file_system(), cut_path, whole.substr(0, length));
    const auto events = events_of(cut_path);
    CHECK(events.size() >= before);
    for (size_t i = 1; i < events.size(); ++i) CHECK(events[i].step == static_cast<int64_t>(i));
    before = events.size();
  }
  CHECK(before == 6);
}

TEST_CASE("damage in the middle of a file is told with its path", "[summaries]") {
  const TemporaryDirectory folder;
  std::string path;
  {
    EventFileWriter writer(folder.path(), posix_file_system());
    for (int step = 1; step <= 5; ++step) writer.add_scalar("loss", step, step);
    path = writer.path();
  }
  std::string bytes = belfry::read_file(posix_file_system(), path);
  bytes[bytes.size() / 2] ^= 1;
  belfry::write_file_atomically(posix_file_system(), path, bytes);
  CHECK_THROWS_WITH(events_of(path), Contains(path));
}

TEST_CASE("after a failed write the events go on in a new file and none is lost", "[summaries]") {
  const FileOperation failing = GENERATE(FileOperation::kAppend, FileOperation::kFlush);
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  {
    EventFileWriter writer(folder.path(), files, {.flush_secs = 0});
    writer.add_scalar("loss", 1, 1);
    files.inject({.kind = failing});
    try {
      writer.add_scalar("loss", 2, 2);
      FAIL("a failed write was not told");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
    }
    files.revive();
    writer.add_scalar("loss", 3, 3);
  }
  const auto scalars = belfry::read_scalars(posix_file_system(), folder.path());
  for (int step = 1; step <= 3; ++step) CHECK(scalars.at(step).at("loss") == step);
  CHECK(belfry::list_event_files(posix_file_system(), folder.path()).size() == 2);
}

TEST_CASE("a writer that cannot flush at its end warns and does not throw", "[summaries]") {
  std::vector<std::string> warnings;
  const auto before = belfry::set_log_sink([&](belfry::LogLevel, std::string_view m) { warnings.emplace_back(m); });
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  {
    EventFileWriter writer(folder.path(), files, {.flush_secs = 3600});
    writer.add_scalar("loss", 1, 1);
    writer.add_scalar("loss", 2, 2);
    files.inject({.process_dies = true});
  }
  belfry::set_log_sink(before);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("events"));
  CHECK(scalars_in(folder.path()) == 1);
}

TEST_CASE("threads share a writer", "[summaries]") {
  const TemporaryDirectory folder;
  {
    EventFileWriter writer(folder.path(), posix_file_system(), {.flush_secs = 0});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&writer, t] {
        for (int step = 0; step < 100; ++step) writer.add_scalar(belfry::concat("thread_", t), step, step);
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(scalars_in(folder.path()) == 400);
}

TEST_CASE("a folder that is not there has no events, and other files in it are passed over", "[summaries]") {
  const TemporaryDirectory folder;
  CHECK(belfry::read_scalars(posix_file_system(), folder.file("absent")).empty());
  belfry::write_file_atomically(posix_file_system(), folder.file("checkpoint"), "no event");
  CHECK(belfry::read_scalars(posix_file_system(), folder.path()).empty());
}
