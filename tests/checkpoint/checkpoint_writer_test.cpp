#include "checkpoint/checkpoint_writer.h"

#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

void write(const std::string& prefix, const CheckpointEntries& entries, FileSystem& files = posix_file_system()) {
  CheckpointWriter writer(prefix, files);
  for (const CheckpointEntry& entry : entries) writer.add(entry.name, entry.value);
  writer.finish();
}

}  // namespace

TEST_CASE("what is written is read back", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("model.ckpt-1");
  write(prefix, sample_entries(5));
  CHECK(holds(CheckpointReader(prefix), sample_entries(5)));
  CHECK(posix_file_system().list(folder.path()) ==
        std::vector<std::string>{"model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index"});
}

TEST_CASE("every element type is written and read back", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointEntries entries;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kBool, at::kChar, at::kShort,
                                    at::kInt, at::kLong, at::kByte, at::kComplexFloat, at::kComplexDouble}) {
    entries.push_back({c10::toString(type), at::arange(-3, 5).to(type).reshape({2, 4})});
  }
  for (const at::ScalarType type : {at::kUInt16, at::kUInt32, at::kUInt64}) {
    entries.push_back({c10::toString(type), at::arange(0, 5).to(type)});
  }
  write(folder.file("a"), entries);
  CHECK(holds(CheckpointReader(folder.file("a")), entries));
}

TEST_CASE("views, transposed, conjugated and grad-requiring tensors are written by value", "[checkpoint]") {
  TemporaryDirectory folder;
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  const at::Tensor complex = at::complex(base, base + 1).conj();
  write(folder.file("a"),
        {{"t", base.t()}, {"v", base.narrow(1, 1, 2)}, {"c", complex}, {"g", base.clone().requires_grad_()}});
  const CheckpointReader reader(folder.file("a"));
  CHECK(reader.tensor("t").equal(base.t()));
  CHECK(reader.tensor("v").equal(base.narrow(1, 1, 2)));
  CHECK(reader.tensor("c").equal(complex));
  CHECK(reader.tensor("g").equal(base));
  CHECK_FALSE(reader.tensor("g").requires_grad());
}

TEST_CASE("odd names are kept and sorted", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::vector<std::string> names{"a b:c", "net/fc1.weight", "z", "\xc3\xbc/x"};
  CheckpointEntries entries;
  for (size_t i = names.size(); i-- > 0;) entries.push_back({names[i], at::scalar_tensor(static_cast<double>(i))});
  write(folder.file("a"), entries);
  const CheckpointReader reader(folder.file("a"));
  std::vector<std::string> read;
  for (const CheckpointVariable& variable : reader.variables()) read.push_back(variable.name);
  CHECK(read == names);
}

TEST_CASE("a checkpoint without variables can be read", "[checkpoint]") {
  TemporaryDirectory folder;
  write(folder.file("a"), {});
  CHECK(CheckpointReader(folder.file("a")).variables().empty());
}

TEST_CASE("bad entries are refused, and the writer can be used on", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointWriter writer(folder.file("a"));
  const at::Tensor ones = at::ones({2});
  writer.add("x", ones);
  CHECK_THROWS_WITH(writer.add("x", ones), Contains("'x' comes twice"));
  CHECK(kind_of([&] { writer.add("x", ones); }) == ErrorKind::kAlreadyExists);
  CHECK_THROWS_WITH(writer.add("", ones), Contains("empty name"));
  CHECK_THROWS_WITH(writer.add("u", at::Tensor()), Contains("'u'") && Contains("undefined"));
  CHECK_THROWS_WITH(writer.add("s", at::eye(3).to_sparse()), Contains("'s'") && Contains("Sparse"));
  CHECK(kind_of([&] { writer.add("s", at::eye(3).to_sparse()); }) == ErrorKind::kUnimplemented);
  writer.add("y", at::zeros({1}));
  writer.finish();
  CHECK(kind_of([&] { writer.finish(); }) == ErrorKind::kFailedPrecondition);
  CHECK(holds(CheckpointReader(folder.file("a")), {{"x", ones}, {"y", at::zeros({1})}}));
}

TEST_CASE("a writer that is given up leaves no file", "[checkpoint]") {
  TemporaryDirectory folder;
  { CheckpointWriter(folder.file("a")).add("x", at::ones({1000})); }
  CHECK(posix_file_system().list(folder.path()).empty());
  CHECK(kind_of([&] { CheckpointWriter(folder.file("none/a")); }) == ErrorKind::kNotFound);
}

TEST_CASE("a full disk ends the writer and leaves the old checkpoint", "[checkpoint]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  const std::string prefix = folder.file("model.ckpt-1");
  write(prefix, sample_entries(1), files);
  const std::vector<std::string> before = files.list(folder.path());
  for (uint64_t space = 0; space < 60; space += 7) {
    files.limit_space(space);
    CHECK_THROWS_WITH(write(prefix, sample_entries(2), files), Contains("No space left on device"));
  }
  CHECK(files.list(folder.path()) == before);
  CHECK(holds(CheckpointReader(prefix), sample_entries(1)));
  files.limit_space(20);
  CheckpointWriter writer(prefix, files);
  CHECK(kind_of([&] { writer.add("x", at::ones({100})); }) == ErrorKind::kIo);
  CHECK(kind_of([&] { writer.add("y", at::ones({1})); }) == ErrorKind::kFailedPrecondition);
  CHECK(kind_of([&] { writer.finish(); }) == ErrorKind::kFailedPrecondition);
}

TEST_CASE("a checkpoint is replaced again and again", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("model.ckpt-1");
  for (int64_t seed = 0; seed < 4; ++seed) {
    write(prefix, sample_entries(seed));
    CHECK(holds(CheckpointReader(prefix), sample_entries(seed)));
    CHECK(posix_file_system().list(folder.path()).size() == (seed % 2 == 0 ? 2 : 3));
  }
}

TEST_CASE("a reader of a checkpoint that is replaced goes on with the old one", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("model.ckpt-1");
  write(prefix, sample_entries(1));
  const CheckpointReader reader(prefix);
  write(prefix, sample_entries(2));
  CHECK(holds(reader, sample_entries(1)));
}
