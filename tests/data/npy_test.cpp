// Files that NumPy wrote (tests/data/numpy/generate.py), and damaged ones.
#include "data/npy.h"

#include "data/internal/npy_file.h"
#include "tests/data/support.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/memory_file.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

std::string numpy_file(const std::string& name) { return test_data("data/numpy/" + name); }

std::string content_of(const std::string& name) { return read_file(posix_file_system(), numpy_file(name)); }

// The bytes of an array file with this header.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  for (size_t i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", data);
}

Value parse(const std::string& bytes) { return data_internal::read_npy_file(MemoryFile(bytes), "memory.npy").only(); }

Features parse_archive(const std::string& bytes) {
  return data_internal::read_npz_file(MemoryFile(bytes), "memory.npz");
}

// 0 to 6 in two rows of three, as generate.py has them.
at::Tensor numbers_as(at::ScalarType dtype) { return at::arange(6, at::kLong).reshape({2, 3}).to(dtype); }

void check_array(const Features& arrays, const std::string& name, const at::Tensor& wanted) {
  INFO(name);
  const at::Tensor& array = arrays[name];
  CHECK(array.scalar_type() == wanted.scalar_type());
  CHECK(array.is_contiguous());
  REQUIRE(array.sizes() == wanted.sizes());
  CHECK(at::equal(array.to(at::kComplexDouble), wanted.to(at::kComplexDouble)));
}

}  // namespace

TEST_CASE("archives of NumPy give their arrays, stored or deflated", "[data][S20]") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    INFO(name);
    const Features arrays = read_npz(numpy_file(name));
    CHECK(arrays.size() == 20);
    CHECK(arrays.names()[0] == "c_order");
    const at::Tensor numbers = numbers_as(at::kLong);
    check_array(arrays, "c_order", numbers.to(at::kFloat));
    check_array(arrays, "fortran", numbers.to(at::kDouble));
    check_array(arrays, "big_endian", numbers.to(at::kInt));
    check_array(arrays, "bool", numbers.remainder(2).eq(0));
    check_array(arrays, "int8", (numbers - 3).to(at::kChar));
    check_array(arrays, "uint8", (numbers + 250).to(at::kByte));
    check_array(arrays, "int16", (numbers - 3).to(at::kShort));
    check_array(arrays, "uint16", (numbers + 65530).to(at::kUInt16));
    check_array(arrays, "int64", numbers.bitwise_left_shift(40));
    check_array(arrays, "uint32", (numbers + 4294967290).to(at::kUInt32));
    check_array(arrays, "uint64", numbers.bitwise_left_shift(50).to(at::kUInt64));
    check_array(arrays, "half", (numbers.to(at::kFloat) / 4).to(at::kHalf));
    check_array(arrays, "complex64", at::complex(numbers.to(at::kFloat), at::ones({2, 3})));
    check_array(arrays, "complex128", at::complex(numbers.to(at::kDouble), at::full({2, 3}, -2, at::kDouble)));
    check_array(arrays, "scalar", at::scalar_tensor(2.5, at::kFloat));
    check_array(arrays, "empty", at::zeros({0, 3}));
    CHECK(at::equal(arrays.nested("slash")["inner"], at::tensor({7, 8}, at::kLong)));
  }
}

TEST_CASE("byte strings and text of NumPy are strings", "[data][S20]") {
  const Features arrays = read_npz(numpy_file("deflated.npz"));
  CHECK(arrays.strings("bytes") ==
        StringTensor({"a", "bcd", "", std::string("\xff\0x", 3), "ef", "g"}, std::vector<int64_t>{2, 3}));
  CHECK(arrays.strings("text") == StringTensor({"plain", "gr\xc3\xbcn", "\xe2\x82\xac", "\xf0\x9f\x98\x80", ""}));
  CHECK(arrays.strings("text_fortran") == StringTensor({"a", "b", "c", "d", "e", "f"}, std::vector<int64_t>{2, 3}));
}

TEST_CASE("array files of all three versions are read", "[data][S20]") {
  check_array(read_npy(numpy_file("version1.npy")), "", numbers_as(at::kDouble));
  check_array(read_npy(numpy_file("version2.npy")), "", numbers_as(at::kFloat));
  check_array(read_npy(numpy_file("version3.npy")), "", numbers_as(at::kFloat));
  check_array(parse(npy("\n{ \"shape\" :(2L,),'descr':'|i1','fortran_order':True}", "\1\2")).tensor(), "",
              at::tensor({1, 2}, at::kChar));
}

TEST_CASE("arrays of another kind are refused by file and type", "[data][S20]") {
  const auto invalid = ErrorKind::kInvalidArgument;
  CHECK_FAILS(read_npy(numpy_file("objects.npy")), invalid, "objects.npy: the array is of type '|O'");
  CHECK_FAILS(read_npy(numpy_file("records.npy")), invalid, "records.npy: this is an array of records");
  CHECK_FAILS(read_npy(numpy_file("dates.npy")), invalid, "'<M8[D]'");
  for (const char* descr : {"<f16", "<c32", "<V2", "f", "", "<", "<f3", "|S0", "<U0", "|S-1", "<U99999999999999999999",
                            "<U4611686018427387904", "S3x", "\x01"}) {
    CHECK_FAILS(parse(npy(descr, "(1,)", "")), invalid, "memory.npy: the array is of type '");
  }
  CHECK_FAILS(read_npy(numpy_file("stored.npz")), invalid, "stored.npz: this is no array of NumPy");
  CHECK_FAILS(read_npz(numpy_file("version1.npy")), invalid, "version1.npy: this is no archive of NumPy");
  CHECK_FAILS(parse(npy("{}", "", 4)), invalid, "of format 4");
}

TEST_CASE("damaged headers are data loss", "[data][S20]") {
  for (const char* header : {"", "{", "}", "{}", "[]", "{'descr': '<f4'", "{'descr': '<f4'}", "{'descr': <f4}",
                             "{'descr' '<f4'}", "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
                             "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}"}) {
    INFO(header);
    CHECK_FAILS(parse(npy(header, "1234")), ErrorKind::kDataLoss, "memory.npy: the header is damaged");
  }
}

TEST_CASE("shapes that do not fit the file are data loss, and ask for no memory", "[data][S20]") {
  const auto loss = ErrorKind::kDataLoss;
  CHECK_FAILS(parse(npy("<f4", "(3,)", "12345678")), loss, "has 12 bytes, and here are 8");
  CHECK_FAILS(parse(npy("<f4", "(1,)", "12345678")), loss, "has 4 bytes, and here are 8");
  CHECK_FAILS(parse(npy("<f8", "(1000000000000,)", "12345678")), loss, "has 8000000000000 bytes");
  CHECK_FAILS(parse(npy("|S1000000000", "(1000000,)", "x")), loss, "and here are 1");
  CHECK_FAILS(parse(npy("<f4", "(4294967296, 4294967296)", "")), loss, "cannot be");
  CHECK_FAILS(parse(npy("<f4", "(0, 4294967296, 4294967296)", "")), loss, "cannot be");
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  CHECK_FAILS(parse(npy("<f4", ones + ")", "1234")), loss, "65 dimensions");
  CHECK(parse(npy("<f4", "(0, 1000000)", "")).sizes() == std::vector<int64_t>{0, 1000000});
}

TEST_CASE("array files that are cut off are data loss wherever it happens", "[data][S20]") {
  const std::string whole = content_of("version2.npy");
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK_FAILS(parse(whole.substr(0, length)), ErrorKind::kDataLoss, "memory.npy: ");
  }
  CHECK_FAILS(parse("\x93NUMPY\2" + std::string("\0\xff\xff\xff\xff{", 6)), ErrorKind::kDataLoss, "4294967295 bytes");
}

TEST_CASE("values that a type cannot have are data loss", "[data][S20]") {
  CHECK_FAILS(parse(npy("|b1", "(2,)", "\1\2")), ErrorKind::kDataLoss, "neither 0 nor 1");
  CHECK_FAILS(parse(npy("<U1", "(1,)", std::string("\0\xd8\0\0", 4))), ErrorKind::kDataLoss, "0xd800 is no character");
  CHECK_FAILS(parse(npy("<U1", "(1,)", "\xff\xff\xff\xff")), ErrorKind::kDataLoss, "0xffffffff is no character");
}

TEST_CASE("archives that are cut off or changed are errors", "[data][S20]") {
  const std::string whole = content_of("deflated.npz");
  for (size_t length = 2; length < whole.size(); length += 7) {
    CHECK_FAILS(parse_archive(whole.substr(0, length)), ErrorKind::kDataLoss, "memory.npz: ");
  }
  std::string stored = content_of("stored.npz");
  stored[stored.find("\x93NUMPY") + 128] ^= 1;  // the first number
  CHECK_FAILS(parse_archive(stored), ErrorKind::kDataLoss,
              "memory.npz: 'c_order.npy': the archive cannot be read: CRC");
}

TEST_CASE("an archive's entry cannot claim more than its bytes can hold", "[data][S20]") {
  std::string archive = content_of("stored.npz");
  const size_t central = archive.find("PK\1\2");
  const size_t kSizeField = 24;  // of the central directory's record: the size of what is compressed
  for (size_t i = 0; i < 4; ++i) archive[central + kSizeField + i] = '\x7f';
  CHECK_FAILS(parse_archive(archive), ErrorKind::kDataLoss, "claims 2139062143 bytes in 152");
}

TEST_CASE("an archive holds nothing but arrays, each once", "[data][S20]") {
  std::string archive = content_of("examples.npz");
  for (size_t at = 0; (at = archive.find("name.npy", at)) != std::string::npos;) archive.replace(at, 8, "name.txt");
  CHECK_FAILS(parse_archive(archive), ErrorKind::kInvalidArgument, "'name.txt' is no array");

  archive = content_of("stored.npz");
  for (size_t at = 0; (at = archive.find("uint32", at)) != std::string::npos;) archive.replace(at, 6, "uint64");
  CHECK_FAILS(parse_archive(archive), ErrorKind::kInvalidArgument, "'uint64.npy' comes twice");
}

TEST_CASE("files of NumPy that cannot be read are errors of the file system", "[data][S20]") {
  const TemporaryDirectory folder;
  CHECK_FAILS(read_npy(folder.file("absent.npy")), ErrorKind::kNotFound, "absent.npy");
  CHECK_FAILS(read_npz(folder.path()), ErrorKind::kIo, folder.path());
  for (int64_t fault = 0; fault < 12; ++fault) {  // while the archive is opened, and while entries are read
    FaultInjectingFileSystem files(posix_file_system());
    files.inject({.at = fault, .kind = FileOperation::kRead});
    CHECK_FAILS(read_npz(numpy_file("stored.npz"), &files), ErrorKind::kIo, "stored.npz");
  }
}

TEST_CASE("a data set of a file of NumPy has a row of each array in an element", "[data][S20][C7]") {
  const Dataset data = Dataset::from_numpy(numpy_file("examples.npz"), {.label = "label"});
  CHECK(data.cardinality() == 3);
  CHECK_THAT(data.describe(), Catch::StartsWith("numpy['examples.npz' "));
  const std::optional<Batch> second = data.skip(1).iterate().next();
  REQUIRE(second);
  CHECK(second->features.names() == std::vector<std::string>{"x", "name"});
  CHECK(at::allclose(second->features["x"], at::tensor({1.313f, -0.766f})));
  CHECK(second->features.strings("name")[0] == "b");
  CHECK(second->labels.tensor().item<int64_t>() == 2);
  CHECK(data.shuffle({.seed = 1}).batch(2).iterate().next()->features["x"].sizes() == at::IntArrayRef({2, 2}));

  const Dataset named = Dataset::from_numpy(numpy_file("examples.npz"), {.labels = {"label", "name"}});
  CHECK(named.iterate().next()->labels.names() == std::vector<std::string>{"label", "name"});
  const Dataset lone = Dataset::from_numpy(numpy_file("version1.npy"));
  CHECK(lone.iterate().next()->features.names() == std::vector<std::string>{""});
  CHECK(Dataset::from_numpy(at::arange(4)).cardinality() == 4);
}

TEST_CASE("a data set of NumPy arrays wants rows that agree", "[data][S20][C7]") {
  CHECK_FAILS(Dataset::from_numpy(numpy_file("rows_differ.npz")), ErrorKind::kInvalidArgument, "rows_differ.npz: ");
  CHECK_FAILS(Dataset::from_numpy(numpy_file("rows_differ.npz"), {.label = "label"}), ErrorKind::kInvalidArgument,
              "rows_differ.npz: Dataset: the features have 3 rows");
  CHECK_FAILS(Dataset::from_numpy(numpy_file("stored.npz")), ErrorKind::kInvalidArgument, "'scalar' is a scalar");
  CHECK_FAILS(Dataset::from_numpy(numpy_file("examples.npz"), {.label = "y"}), ErrorKind::kNotFound,
              "there is no array 'y' for the labels; there are 'x', 'name', 'label'");
  CHECK_FAILS(Dataset::from_numpy(numpy_file("examples.npz"), {.label = "x", .labels = {"label"}}),
              ErrorKind::kInvalidArgument, "label and labels are both given");
  CHECK_FAILS(Dataset::from_numpy(numpy_file("version1.npy"), {.labels = {""}}), ErrorKind::kInvalidArgument,
              "there are no features");
}
