// Dataset::from_csv.
#include "core/file_system.h"
#include "tests/data/support.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using List = std::vector<int64_t>;

namespace {

class CsvFile {
 public:
  explicit CsvFile(std::string_view content, const std::string& name = "some.csv") { add(content, name); }

  std::string add(std::string_view content, const std::string& name) {
    write_file_atomically(posix_file_system(), folder_.file(name), content);
    return folder_.file(name);
  }

  std::string path(const std::string& name = "some.csv") const { return folder_.file(name); }

 private:
  TemporaryDirectory folder_;
};

// All rows of a file with that content, as one batch.
Batch table(std::string_view content, const CsvOptions& options = {}) {
  const CsvFile file(content);
  const Dataset data = Dataset::from_csv(file.path(), options);
  return *data.batch(data.cardinality()).iterate().next();
}

std::vector<std::string> strings(const Batch& batch, const std::string& name) {
  return batch.features.strings(name).to_vector();
}

}  // namespace

TEST_CASE("iris is read as four numbers and a species", "[data]") {
  const Dataset train = Dataset::from_csv(example_data("iris_train.csv"), {.label = "species"});
  CHECK(train.cardinality() == 120);
  const Batch first = *train.batch(32).iterate().next();
  CHECK(first.features.names() ==
        std::vector<std::string>{"sepal_length", "sepal_width", "petal_length", "petal_width"});
  CHECK(first.features["sepal_length"].scalar_type() == at::kFloat);
  CHECK(first.features["sepal_length"].sizes() == at::IntArrayRef{32});
  CHECK(first.features["sepal_length"][0].item<float>() == 5.8f);
  CHECK(first.labels.only().strings()[0] == "virginica");
  const std::vector<std::string> both{example_data("iris_train.csv"), example_data("iris_test.csv")};
  CHECK(Dataset::from_csv(both).cardinality() == 150);
  CHECK(Dataset::from_csv({both[0], both[1]}).cardinality() == 150);
}

TEST_CASE("digits is read as one matrix and whole numbers as labels", "[data]") {
  const Dataset digits = Dataset::from_csv(example_data("digits.csv"),
                                           {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}});
  CHECK(digits.cardinality() == 1797);
  DatasetIterator iterator = digits.shuffle({.seed = 1}).repeat().batch(128).prefetch(2).iterate();
  int64_t steps = 0;
  for (; iterator.rows_seen() < 2 * 1797; ++steps) {
    const Batch batch = *iterator.next();
    CHECK(batch.features["x"].sizes() == at::IntArrayRef({128, 64}));
    CHECK(batch.features["x"].max().item<float>() <= 16);
    CHECK(batch.labels.tensor().scalar_type() == at::kLong);
    CHECK(batch.labels.tensor().max().item<int64_t>() <= 9);
  }
  CHECK(steps == 29);
  CHECK(iterator.epoch() == 2);
  const Batch first = *digits.iterate().next();
  CHECK(to_vector(first.features["x"].narrow(0, 0, 8)) == List{0, 0, 5, 13, 9, 1, 0, 0});
}

TEST_CASE("quotes, line ends and marks are read as RFC 4180 says", "[data]") {
  const Batch batch =
      table("\xEF\xBB\xBFname,\"n,1\"\r\n\"a,b\",1\r\n\"say \"\"hi\"\"\",2\r\n\r\n\"two\nlines\",3\r\nlast,4");
  CHECK(strings(batch, "name") == std::vector<std::string>{"a,b", "say \"hi\"", "two\nlines", "last"});
  CHECK(to_vector(batch.features["n,1"]) == List{1, 2, 3, 4});
  CHECK(strings(table("a;b\n\"\";x\n"
                      "y;\n",
                      {.separator = ';'}),
                "a") == std::vector<std::string>{"", "y"});
}

TEST_CASE("numbers are float32 unless something else is asked for", "[data]") {
  const std::string content = "a,b,c\n1,2,x\n 3 ,+4.5,y\n";
  CHECK(table(content).features["a"].scalar_type() == at::kFloat);
  const Batch inferred = table(content, {.infer_integers = true});
  CHECK(inferred.features["a"].scalar_type() == at::kLong);
  CHECK(to_vector(inferred.features["a"]) == List{1, 3});
  CHECK(inferred.features["b"].scalar_type() == at::kFloat);
  CHECK(inferred.features["b"][1].item<float>() == 4.5f);
  const Batch asked = table(content, {.dtypes = {{"a", CsvType::kString}, {"b", CsvType::kFloat64}}});
  CHECK(strings(asked, "a") == std::vector<std::string>{"1", " 3 "});
  CHECK(asked.features["b"].scalar_type() == at::kDouble);
}

TEST_CASE("numbers at the edge of a type are read or refused, never changed", "[data]") {
  const CsvOptions whole{.dtypes = {{"a", CsvType::kInt64}}};
  CHECK(to_vector(table("a\n9223372036854775807\n", whole).features["a"]) == List{9223372036854775807});
  CHECK_THROWS_WITH(table("a\n9223372036854775808\n", whole), Contains("int64"));
  CHECK_THROWS_WITH(table("a\n1.5\n", whole), Contains("'1.5'"));
  CHECK_THROWS_WITH(table("a\n1\n1e39\n"), Contains("'1e39'"));
  CHECK(table("a\n1e-40\n").features["a"][0].item<float>() == 1e-40f);
  const auto type = GENERATE(CsvType::kFloat32, CsvType::kFloat64);
  for (const std::string& tiny :
       {std::string("1e-400"), std::string("-12.5E-4000"), "0." + std::string(400, '0') + "1"}) {
    CHECK(table("a\n" + tiny + "\n", {.dtypes = {{"a", type}}}).features["a"][0].item<double>() == 0);
    CHECK(table("a\n" + tiny + "\n").features["a"][0].item<double>() == 0);
  }
  CHECK_THROWS_WITH(table("a\n1e400\n", {.dtypes = {{"a", type}}}), Contains("'1e400'"));
  const List after_missing =
      to_vector(table("a\n1\nnan\n", {.na_values = {"nan"}, .defaults = {{"a", "7"}}}).features["a"]);
  CHECK(after_missing == List{1, 7});
}

TEST_CASE("a cell that says nan or inf is refused with its place", "[data]") {
  for (const std::string cell : {"nan", "NaN", "-inf", "+Infinity", " INF "}) {
    INFO(cell);
    CHECK_THROWS_WITH(table("a,b\n1,2\n3," + cell + "\n"),
                      Contains(":3: column 'b'") && Contains("not a finite number") && Contains("na_values"));
    CHECK_THROWS_WITH(table("a\n" + cell + "\n", {.dtypes = {{"a", CsvType::kFloat64}}}), Contains(":2: column 'a'"));
  }
  CHECK(strings(table("a\nnan\ninf\n"), "a") == std::vector<std::string>{"nan", "inf"});  // text by its first cell
}

TEST_CASE("columns and labels are chosen by name, in the order asked for", "[data]") {
  const std::string content = "a,b,c,d\n1,2,3,4\n";
  CHECK(table(content, {.columns = {"c", "a"}}).features.names() == std::vector<std::string>{"c", "a"});
  const Batch two = table(content, {.columns = {"a"}, .labels = {"d", "b"}});
  CHECK(two.labels.names() == std::vector<std::string>{"d", "b"});
  CHECK(table(content, {.label = "d"}).labels.names() == std::vector<std::string>{""});
  CHECK(table(content).labels.empty());
  const Batch plain = table("1,x\n2,y\n", {.header = false, .column_names = {"n", "s"}});
  CHECK(to_vector(plain.features["n"]) == List{1, 2});
}

TEST_CASE("missing cells take the column's default", "[data]") {
  const std::string content = "n,s\nNA,\n1,x\n,NA\n";
  const CsvOptions options{.na_values = {"NA"}, .defaults = {{"n", "-1"}, {"s", "unknown"}}};
  const Batch batch = table(content, options);
  CHECK(to_vector(batch.features["n"]) == List{-1, 1, -1});
  CHECK(strings(batch, "s") == std::vector<std::string>{"unknown", "x", "unknown"});
  CHECK(strings(table("n,s\n1,\n2,\"NA\"\n3,z\n", {.dtypes = {{"s", CsvType::kString}}, .na_values = {"NA"}}), "s") ==
        std::vector<std::string>{"", "NA", "z"});
  const Batch upgraded =
      table("n\n1\n\n\"2\"\nNA\n", {.infer_integers = true, .na_values = {"NA"}, .defaults = {{"n", "0.5"}}});
  CHECK(upgraded.features["n"].scalar_type() == at::kFloat);
  CHECK(upgraded.features["n"][2].item<float>() == 0.5f);
  CHECK(to_vector(table("n,m\n,1\n,2\n", {.defaults = {{"n", "7"}}}).features["n"]) == List{7, 7});
}

TEST_CASE("bad input is named by file, line and column", "[data]") {
  struct Case {
    const char* content;
    CsvOptions options;
    ErrorKind kind;
    std::vector<const char*> parts;
  };
  const auto bad = ErrorKind::kInvalidArgument;
  const auto absent = ErrorKind::kNotFound;
  const std::vector<Case> cases{
      {"a,b\n1,2\n3\n", {}, bad, {"some.csv:3", "1 cells", "2 were wanted", "'b'"}},
      {"a,b\n1,2,3\n", {}, bad, {"some.csv:2", "3 cells", "2 were wanted"}},
      {"a,b\n1,2\n3,x\n", {}, bad, {"some.csv:3", "column 'b'", "'x'", "dtypes"}},
      {"a,b\n\"1\n\",2\n", {.dtypes = {{"a", CsvType::kFloat32}}}, bad, {"some.csv:2", "column 'a'", "'1?'"}},
      {"a,b\n\"q\nq\",2\n\nx,y\n", {}, bad, {"some.csv:5", "column 'b'", "'y'"}},
      {"a,b\n1,\n", {.dtypes = {{"b", CsvType::kInt64}}}, bad, {"some.csv:2", "column 'b'", "missing", "defaults"}},
      {"a,b\n1,\n1,\n1,5\n", {}, bad, {"some.csv:2", "column 'b'", "missing"}},
      {"a,b\n1,\n1,\n", {}, bad, {"some.csv:2", "column 'b'", "every cell is missing"}},
      {"", {}, bad, {"some.csv", "empty"}},
      {"\xEF\xBB\xBF\r\n\n", {}, bad, {"some.csv", "empty"}},
      {"a,b\n", {}, bad, {"some.csv", "no data rows"}},
      {"", {.header = false, .column_names = {"a"}}, bad, {"some.csv", "no data rows"}},
      {"a,b\n1,2\n", {.label = "c"}, absent, {"some.csv", "'c'", "'a', 'b'"}},
      {"a,b\n1,2\n", {.columns = {"x"}}, absent, {"'x'", "'a', 'b'"}},
      {"a,b\n1,2\n", {.dtypes = {{"y", CsvType::kInt64}}}, absent, {"'y'"}},
      {"a,b\n1,2\n", {.defaults = {{"z", "0"}}}, absent, {"'z'"}},
      {"a,a\n1,2\n", {}, bad, {"some.csv", "'a' comes twice"}},
      {"a,b\n1,2\n", {.columns = {"a", "a"}}, bad, {"'a' comes twice"}},
      {"a,b\n1,2\n", {.columns = {"a"}, .label = "a"}, bad, {"'a'", "label"}},
      {"a,b\n1,2\n", {.label = "a", .labels = {"b"}}, bad, {"label and labels"}},
      {"a\n1\n", {.label = "a"}, bad, {"no feature"}},
      {"a,b\n1,2\n", {.header = false}, bad, {"column_names"}},
      {"a,b\n1,2\n", {.column_names = {"x", "y"}}, bad, {"column_names"}},
      {"a,b\n1,2\n", {.separator = '"'}, bad, {"separator"}},
      {"a,b\n1,x\n", {.matrix = "m"}, bad, {"'m'", "'b'", "text"}},
      {"a,b\n1,2\n", {.matrix = "m", .dtypes = {{"b", CsvType::kInt64}}}, bad, {"'m'", "Float", "'b'", "Long"}},
      {"a,b\n1,2\n", {.dtypes = {{"a", CsvType::kInt64}}, .defaults = {{"a", "no"}}}, bad, {"defaults", "'a'", "'no'"}},
      {"a,b\n1,\"2\n", {}, bad, {"some.csv:2", "not closed"}},
      {"a,b\n1,2\"\n", {}, bad, {"some.csv:2", "quote"}},
      {"a,b\n1,\"2\"3\n", {}, bad, {"some.csv:2", "closing quote"}},
  };
  for (const Case& c : cases) {
    INFO(c.content);
    try {
      table(c.content, c.options);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == c.kind);
      for (const char* part : c.parts) CHECK_THAT(error.what(), Contains(part));
    }
  }
}

TEST_CASE("files that do not fit together or are not there are named", "[data]") {
  CsvFile files("a,b\n1,2\n");
  const std::string more = files.add("a,b\n3,4\n", "more.csv");
  CHECK(values_of(Dataset::from_csv({files.path(), more}).map([](Batch row) {
          return Batch{{{"x", row.features["a"]}}, {}};
        })) == List{1, 3});
  CHECK_THROWS_WITH(Dataset::from_csv({files.path(), files.add("a,c\n3,4\n", "other.csv")}),
                    Contains("other.csv") && Contains("'c'") && Contains("some.csv") && Contains("'b'"));
  CHECK_THROWS_WITH(Dataset::from_csv({files.path(), files.add("a\n3\n", "short.csv")}), Contains("1 columns"));
  CHECK_THROWS_WITH(Dataset::from_csv({files.path(), files.add("a,b\n3,q\n", "text.csv")}),
                    Contains("text.csv:2") && Contains("column 'b'"));
  CHECK(kind_of([&] { Dataset::from_csv(files.path("none.csv")); }) == ErrorKind::kNotFound);
  CHECK_THROWS_WITH(Dataset::from_csv(files.path("none.csv")), Contains("none.csv"));
  CHECK_THROWS_WITH(Dataset::from_csv(std::vector<std::string>()), Contains("no path"));
}

TEST_CASE("files are read through the file system given", "[data]") {
  const CsvFile file("a\n1\n");
  FaultInjectingFileSystem files(posix_file_system());
  files.inject({.kind = FileOperation::kRead});
  const CsvOptions options{.file_system = &files};
  CHECK(kind_of([&] { Dataset::from_csv(file.path(), options); }) == ErrorKind::kIo);
  files.revive();
  CHECK(Dataset::from_csv(file.path(), options).cardinality() == 1);
}

TEST_CASE("the fingerprint follows a file's name and content, not its folder", "[data]") {
  const CsvFile one("a\n1\n");
  const CsvFile same("a\n1\n");
  const CsvFile other("a\n2\n");
  CHECK(Dataset::from_csv(one.path()).fingerprint() == Dataset::from_csv(same.path()).fingerprint());
  CHECK(Dataset::from_csv(one.path()).fingerprint() != Dataset::from_csv(other.path()).fingerprint());
  CHECK(Dataset::from_csv(one.path()).fingerprint() !=
        Dataset::from_csv(one.path(), {.defaults = {{"a", "3"}}}).fingerprint());
  CHECK_THAT(Dataset::from_csv(one.path()).describe(), Contains("'some.csv' 4 bytes"));
}
