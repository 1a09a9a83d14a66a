#include "core/tensor_dict.h"

#include "core/error.h"
#include "tests/testing.h"

using belfry::StringTensor;
using belfry::TensorDict;
using Catch::Contains;

TEST_CASE("a dict keeps its order and finds entries by name", "[core]") {
  const TensorDict dict{{"z", torch::arange(4)}, {"a", StringTensor{"p", "q", "r", "s"}}};
  CHECK(dict.names() == std::vector<std::string>{"z", "a"});
  CHECK(dict["z"].size(0) == 4);
  CHECK(dict.strings("a")[1] == "q");
  CHECK(dict.rows() == 4);
  CHECK(dict.narrow(1, 2).strings("a") == StringTensor{"q", "r"});
  CHECK(dict.narrow(1, 2)["z"].data_ptr<int64_t>() == dict["z"].data_ptr<int64_t>() + 1);
}

TEST_CASE("a lone tensor needs no name", "[core]") {
  const TensorDict dict(torch::ones({2}));
  CHECK(dict.tensor().size(0) == 2);
  CHECK(dict.contains(""));
}

TEST_CASE("parts join to the whole, names by names", "[core]") {
  const TensorDict dict{{"x", torch::arange(5)}, {"s", StringTensor{"a", "b", "c", "d", "e"}}};
  const TensorDict whole = belfry::cat({dict.narrow(0, 2), dict.narrow(2, 3)});
  CHECK(torch::equal(whole["x"], dict["x"]));
  CHECK(whole.strings("s") == dict.strings("s"));
  CHECK_THROWS_WITH(belfry::cat({dict, TensorDict(torch::ones({1}))}), Contains("'x', 's'"));
}

TEST_CASE("a dict inside a dict is entries below its name", "[core]") {
  TensorDict dict{{"x", at::zeros({2})}};
  dict.set_nested("user", {{"age", at::ones({2})}, {"name", StringTensor{"a", "b"}}});
  CHECK(dict.names() == std::vector<std::string>{"x", "user/age", "user/name"});
  TensorDict deeper;
  deeper.set_nested("all", dict);
  CHECK(deeper.nested("all").nested("user")["age"].equal(at::ones({2})));
  CHECK(dict.nested("user").strings("name")[1] == "b");
  CHECK_THROWS_WITH(dict.nested("use"), Catch::Contains("'use/'") && Catch::Contains("'user/age'"));
  CHECK_THROWS_WITH(dict.set_nested("", dict), Catch::Contains("needs a name"));
  CHECK(dict.rows() == 2);
  dict.set_nested("user", {{"city", at::ones({2})}});  // takes the place of what was there
  CHECK(dict.names() == std::vector<std::string>{"x", "user/city"});
  dict.set_nested("user", TensorDict(at::full({2}, 7.0)));
  CHECK(dict.nested("user").tensor().equal(at::full({2}, 7.0)));
}

TEST_CASE("what a dict refuses, it names", "[core]") {
  TensorDict dict{{"x", torch::zeros({3})}, {"s", StringTensor{"a", "b"}}};
  CHECK_THROWS_WITH(dict["y"], Contains("'y'") && Contains("'x', 's'"));
  CHECK_THROWS_WITH(dict["s"], Contains("'s'") && Contains("strings"));
  CHECK_THROWS_WITH(dict.strings("x"), Contains("'x'"));
  CHECK_THROWS_WITH(dict.rows(), Contains("'x' has 3 rows") && Contains("'s' has 2"));
  CHECK_THROWS_WITH(dict.tensor(), Contains("'x', 's'"));
  CHECK_THROWS_WITH((TensorDict{{"x", torch::zeros({1})}, {"x", torch::zeros({1})}}), Contains("twice"));
  CHECK_THROWS_WITH(TensorDict(torch::zeros({})).rows(), Contains("scalar"));
}
