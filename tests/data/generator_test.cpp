#include "data/generator.h"

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using List = std::vector<int64_t>;

TEST_CASE("a generator is a data set of its elements, made anew for each pass", "[data]") {
  int passes = 0;
  const auto factory = [&passes] {
    ++passes;
    return counting(3)();
  };
  CHECK(values_of(Dataset::from_generator(factory).repeat(2).batch(2)) == List{0, 1, 2, 0, 1, 2});
  CHECK(passes == 2);
}

TEST_CASE("a batched generator gives batches", "[data]") {
  const auto factory = [] {
    return [i = 0]() mutable -> std::optional<Batch> {
      if (i == 2) return std::nullopt;
      ++i;
      return Batch{{{"x", at::full({i + 2}, i)}}, {}};
    };
  };
  const Dataset data = Dataset::from_generator(factory, {.batched = true});
  CHECK(data.batched());
  DatasetIterator iterator = data.iterate();
  CHECK(read_x(iterator) == std::vector<List>{{1, 1, 1}, {2, 2, 2, 2}});
  CHECK(iterator.rows_seen() == 7);
}

TEST_CASE("a generator that saves is restored without a replay", "[data]") {
  int made = 0;
  const auto factory = [&made] {
    ++made;
    return seekable(100)();
  };
  const Dataset data = Dataset::from_generator(factory);
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 60);
  DatasetIterator resumed = data.iterate();
  int calls = 0;
  resumed.restore(iterator.position(), [&](int64_t, int64_t) { ++calls; });
  CHECK(read_x(resumed, 2) == std::vector<List>{{60}, {61}});
  CHECK(calls == 0);
}

TEST_CASE("a generator without save is replayed, and tells how far it is", "[data]") {
  const Dataset data = Dataset::from_generator(counting(3000));
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 2500);
  DatasetIterator resumed = data.iterate();
  std::vector<List> calls;
  resumed.restore(iterator.position(), [&](int64_t done, int64_t total) { calls.push_back({done, total}); });
  CHECK(calls == std::vector<List>{{0, 2500}, {1024, 2500}, {2048, 2500}, {2500, 2500}});
  CHECK(read_x(resumed, 1) == std::vector<List>{{2500}});
}

TEST_CASE("a generator that has shrunk is an error that says by how much", "[data]") {
  int64_t count = 10;
  const Dataset data = Dataset::from_generator([&] { return counting(count)(); }, {.name = "camera"});
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 8);
  const std::string position = iterator.position();
  count = 5;
  DatasetIterator resumed = data.iterate();
  CHECK_THROWS_WITH(resumed.restore(position), Contains("camera: ended after 5") && Contains("8"));
  CHECK(read_x(resumed).size() == 5);
}

TEST_CASE("functions that cannot work are refused", "[data]") {
  CHECK_THROWS_WITH(Dataset::from_generator(nullptr), Contains("empty"));
  const Generator::Next none = []() -> std::optional<Batch> { return std::nullopt; };
  CHECK_THROWS_WITH(Generator(
                        none, [] { return ""; }, nullptr),
                    Contains("restore was not given"));
  CHECK_THROWS_WITH(Generator(nullptr, nullptr, nullptr), Contains("next"));
  const auto nothing = [] { return []() -> std::optional<Batch> { return Batch{}; }; };
  DatasetIterator iterator = Dataset::from_generator(nothing, {.name = "camera"}).iterate();
  CHECK_THROWS_WITH(iterator.next(), Contains("camera: element 0 has no features"));
}

namespace {

// Fills one buffer anew for each of the elements 0 to 7: [] or, when `batched`, [2].
Dataset refilling(bool batched, const std::function<at::Tensor(const at::Tensor&)>& given) {
  const auto factory = [batched, given] {
    const at::Tensor buffer = batched ? at::zeros({2}, at::kLong) : at::zeros({1}, at::kLong);
    return [buffer, given, i = 0]() mutable -> std::optional<Batch> {
      if (i == 8) return std::nullopt;
      for (int64_t k = 0; k < buffer.numel(); ++k) buffer.mutable_data_ptr<int64_t>()[k] = i;
      ++i;
      return Batch{{{"x", given(buffer)}}, given(buffer)};
    };
  };
  return Dataset::from_generator(factory, {.batched = batched});
}

}  // namespace

TEST_CASE("a generator may fill one buffer again and again", "[data]") {
  using Given = std::function<at::Tensor(const at::Tensor&)>;
  const Given given = GENERATE(Given([](const at::Tensor& buffer) { return buffer; }),
                               Given([](const at::Tensor& buffer) { return buffer.narrow(0, 0, buffer.size(0)); }),
                               Given([](const at::Tensor& buffer) {
                                 return at::from_blob(buffer.mutable_data_ptr(), buffer.sizes(), at::kLong);
                               }));
  const List each{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(values_of(refilling(false, given).batch(4)) == each);
  CHECK(values_of(refilling(false, given).shuffle({.buffer_size = 1}).prefetch(8).batch(3)) == each);
  const Dataset ahead = refilling(true, given).prefetch(8);
  CHECK(batches_of(ahead) == std::vector<List>{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}});
}

TEST_CASE("a function of elements may give one buffer again and again", "[data]") {
  const at::Tensor buffer = at::zeros({}, at::kLong);
  const auto doubled = [buffer](const Batch& element) {
    *buffer.mutable_data_ptr<int64_t>() = 2 * element.features["x"].item<int64_t>();
    return Batch{{{"x", buffer}}, element.labels};
  };
  CHECK(values_of(numbers(4).map(doubled).batch(4)) == List{0, 2, 4, 6});
  CHECK(values_of(Dataset::from_generator(counting(4)).map(doubled).batch(2)) == List{0, 2, 4, 6});
}

TEST_CASE("an element that its maker lets go, and one that a map passes on, are not copied", "[data]") {
  const void* made = nullptr;
  const auto factory = [&made] {
    return [&made, i = 0]() mutable -> std::optional<Batch> {
      if (i++ == 1) return std::nullopt;
      const at::Tensor x = at::zeros({2, 3});
      made = x.const_data_ptr();
      return Batch{{{"x", x}}, {}};
    };
  };
  const auto passed_on = [](Batch batch) { return batch; };
  DatasetIterator iterator = Dataset::from_generator(factory, {.batched = true}).map(passed_on).iterate();
  CHECK(iterator.next()->features["x"].const_data_ptr() == made);

  const at::Tensor x = at::zeros({2, 3});
  DatasetIterator rows = Dataset::from_tensors({{"x", x}}).batch(2).map(passed_on).iterate();
  CHECK(rows.next()->features["x"].const_data_ptr() == x.const_data_ptr());
}

TEST_CASE("elements made under InferenceMode, or with a graph, can be trained with", "[data]") {
  const auto make = [](bool inference) {
    const c10::InferenceMode mode(inference);
    return inference ? at::ones({2}) : at::ones({2}).requires_grad_() * 2;
  };
  const bool inference = GENERATE(false, true);
  const at::Tensor x = make(inference);
  const auto factory = [&] {
    return [&, i = 0]() mutable -> std::optional<Batch> {
      if (i++ == 1) return std::nullopt;
      return Batch{{{"x", make(inference)}}, {}};
    };
  };
  const auto making = [&](const Batch&) { return Batch{{{"x", make(inference)}}, {}}; };
  for (const Dataset& data : {Dataset::from_tensors({{"x", x}}).batch(2),
                              Dataset::from_generator(factory, {.batched = true}), numbers(1).map(making)}) {
    DatasetIterator iterator = data.iterate();
    const at::Tensor read = iterator.next()->features["x"];
    CHECK_FALSE(read.is_inference());
    CHECK_FALSE(read.requires_grad());
  }
}

TEST_CASE("an undefined tensor among a generator's or a map's elements is an error", "[data]") {
  const auto factory = [] {
    return []() -> std::optional<Batch> { return Batch{{{"x", at::ones({2})}}, {{"y", at::Tensor()}}}; };
  };
  DatasetIterator made = Dataset::from_generator(factory, {.name = "camera"}).iterate();
  CHECK_THROWS_WITH(made.next(), Contains("camera: element 0") && Contains("label 'y'") && Contains("undefined"));
  const auto undefined = [](const Batch&) { return Batch{{{"x", at::Tensor()}}, {}}; };
  DatasetIterator mapped = numbers(1).map(undefined).iterate();
  CHECK_THROWS_WITH(mapped.next(), Contains("Dataset::map") && Contains("feature 'x'") && Contains("undefined"));
}
