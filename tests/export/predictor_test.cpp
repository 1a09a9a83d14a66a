#include "export/predictor.h"

#include <torch/script.h>
#include <torch/torch.h>

#include <thread>

#include "core/string_to_hash_bucket.h"
#include "export/internal/receiver_json.h"
#include "receiver_models.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "traced_models.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

bool close(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && at::allclose(a, b, 1e-5, 1e-6);
}

std::string exported(const TemporaryDirectory& folder, const ExportRequest& request) {
  return write_saved_model(folder.path(), request, posix_file_system()).path;
}

// x [-1, 2] to x * weight, under two signatures.
ExportRequest small_request(const at::Tensor& weight) {
  return {.function =
              [weight](const Features& features) {
                const at::Tensor y = features["x"] * weight;
                return ExportOutputs{
                    {kServingDefault, PredictOutput{{{"y", y}, {"argmax", y.argmax(1)}}, {{"argmax", {"a", "b"}}}}},
                    {"sum", RegressionOutput{y.sum(1)}}};
              },
          .receiver = ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{{"x", {.shape = {-1, 2}}}}),
          .variables = {{"weight", weight}}};
}

}  // namespace

TEST_CASE("A predictor answers as the model that was exported", "[export][predictor]") {
  const TemporaryDirectory folder;
  const at::Tensor weight = at::tensor({2.0F, 3.0F});
  const Predictor predictor(exported(folder, small_request(weight)));
  CHECK(predictor.signature_names() == std::vector<std::string>{kServingDefault, "sum"});
  const PredictorSignature& signature = predictor.signature();
  REQUIRE(signature.inputs.size() == 1);
  CHECK(signature.inputs[0].name == "x");
  CHECK(signature.inputs[0].type == GraphType{at::kFloat, {-1, 2}});
  CHECK(signature.outputs[1].type.dtype == kString);
  for (const int64_t rows : {1, 5, 2}) {
    const at::Tensor x = at::randn({rows, 2});
    const TensorDict outputs = predictor.predict({{"x", x}});
    CHECK(close(outputs["y"], x * weight));
    CHECK(outputs.strings("argmax")[0] == ((x * weight).argmax(1)[0].item<int64_t>() == 0 ? "a" : "b"));
    CHECK(close(predictor.predict({{"x", x}}, "sum")["outputs"], (x * weight).sum(1)));
    CHECK(close(predictor.predict(x, "sum")["outputs"], (x * weight).sum(1)));  // a lone tensor needs no name
  }
}

TEST_CASE("Scores with names and without ids have their names as classes", "[export][predictor][E68]") {
  const TemporaryDirectory folder;
  ExportRequest request = small_request(at::tensor({2.0F, 3.0F}));
  request.function = [](const Features& features) {
    return ExportOutputs{
        {kServingDefault, ClassificationOutput{.scores = features["x"], .class_names = {"no", "yes"}}}};
  };
  request.variables = {};
  const Predictor predictor(exported(folder, request));
  REQUIRE(predictor.signature().outputs.size() == 2);
  CHECK(predictor.signature().outputs[1].name == "classes");
  CHECK(predictor.signature().outputs[1].type == GraphType{kString, {-1, 2}});
  for (const int64_t rows : {3, 1}) {
    const at::Tensor x = at::randn({rows, 2});
    const TensorDict outputs = predictor.predict(x);
    CHECK(close(outputs["scores"], x));
    const StringTensor& classes = outputs.strings("classes");
    CHECK(classes.sizes() == std::vector<int64_t>{rows, 2});
    for (int64_t i = 0; i < 2 * rows; ++i) CHECK(classes[i] == (i % 2 == 0 ? "no" : "yes"));
  }
}

TEST_CASE("The newest export of a folder is taken", "[export][predictor]") {
  const TemporaryDirectory folder;
  exported(folder, small_request(at::tensor({1.0F, 1.0F})));
  exported(folder, small_request(at::tensor({5.0F, 5.0F})));
  const at::Tensor x = at::ones({1, 2});
  write_file_atomically(posix_file_system(), folder.file("9999999999999"), "a file, and no export");
  CHECK(close(Predictor(folder.path()).predict({{"x", x}})["y"], x * 5));
  CHECK_FAILS(Predictor(folder.path() + "/none"), ErrorKind::kNotFound, "none");
  const TemporaryDirectory empty;
  CHECK_FAILS(Predictor(empty.path()), ErrorKind::kNotFound, "no export");
}

TEST_CASE("Strings are served as the receiver says, and so are the features behind them", "[export][predictor][E62]") {
  const TemporaryDirectory folder;
  const ReceiverModel model = raw_strings_model();
  const Predictor predictor(exported(folder, model.request));
  CHECK(predictor.signature().inputs.size() == 5);
  CHECK(predictor.signature().features.size() == 5);
  for (const TensorDict& request : model.requests) {
    const TensorDict outputs = predictor.predict(request);
    CHECK(outputs["logits"].size(0) == request["weight"].size(0));
  }
  const TensorDict features{{"color_id", at::zeros({1, 1}, at::kLong)},
                            {"shape_id", at::zeros({1, 2}, at::kLong)},
                            {"cross_id", at::zeros({1, 2}, at::kLong)},
                            {"size_id", at::zeros({1, 3}, at::kLong)},
                            {"weight", at::zeros({1, 2})}};
  const TensorDict wanted{{"color", StringTensor({"red"}, {1, 1})}};
  CHECK(predictor.predict(features)["logits"].size(0) == 1);
  CHECK_FAILS(predictor.predict(wanted), ErrorKind::kNotFound, "'shape' is not given");
}

TEST_CASE("A feature may have the name of the input that it is made of", "[export][predictor]") {
  const TemporaryDirectory folder;
  const at::Tensor table = at::randn({5, 2});
  const auto transform = [](ReceiverBuilder& receiver) {
    receiver.set_feature("word", receiver.graph().hash_bucket(receiver.feature("word"), 5));
  };
  const ExportRequest request{
      .function = [table](const Features& features) -> ExportOutputs {
        return {{kServingDefault, PredictOutput{{{"y", at::embedding(table, features["word"])}}}}};
      },
      .receiver = build_raw_serving_input_receiver_fn({{"word", {.dtype = kString, .shape = {-1}}}}, transform)(),
      .variables = {{"table", table}}};
  const Predictor predictor(exported(folder, request));
  const StringTensor words({"a", "b"});
  const at::Tensor ids = string_to_hash_bucket_fast(words, 5);
  CHECK(close(predictor.predict({{"word", words}})["y"], predictor.predict({{"word", ids}})["y"]));
  CHECK_FAILS(predictor.predict({{"word", ids.to(at::kInt)}}), ErrorKind::kInvalidArgument, "has to be String[-1]");
}

TEST_CASE("What a caller does with an answer changes no other answer", "[export][predictor]") {
  const TemporaryDirectory folder;
  const at::Tensor weight = at::tensor({2.0F, 3.0F});
  const ExportRequest request{
      .function = [weight](const Features& features) -> ExportOutputs {
        return {
            {kServingDefault,
             PredictOutput{{{"x", features["x"]}, {"weight", weight.view({1, 2})}, {"y", features["x"] * weight}}}}};
      },
      .receiver = ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{{"x", {.shape = {-1, 2}}}}),
      .variables = {{"weight", weight}}};
  const Predictor predictor(exported(folder, request));
  const at::Tensor x = at::ones({1, 2});
  TensorDict answer = predictor.predict({{"x", x}});
  for (const auto& [name, value] : answer) value.tensor().add_(7);
  CHECK(close(x, at::ones({1, 2})));
  CHECK(close(predictor.predict({{"x", x}})["weight"].flatten(), weight));
  CHECK(close(predictor.predict({{"x", x}})["y"].flatten(), weight));
}

TEST_CASE("Serialized examples are served", "[export][predictor][E64]") {
  const TemporaryDirectory folder;
  const ReceiverModel model = examples_model(folder.path());
  const Predictor predictor(exported(folder, model.request));
  CHECK(predictor.signature().kind == ExportKind::kClassification);
  for (const TensorDict& request : model.requests) {
    const TensorDict outputs = predictor.predict(request);
    CHECK(outputs.strings("classes")[2] == "high");
    CHECK(close(outputs["scores"].sum(1), at::ones({request.strings(kExamples).size(0)})));
    CHECK(predictor.predict(request.strings(kExamples), "regression")["outputs"].size(0) ==
          request.at(kExamples).rows());
  }
  const StringTensor lacking({ExampleWriter().integers("age", {3}).bytes()});
  CHECK_FAILS(predictor.predict(lacking), ErrorKind::kInvalidArgument, "'x'");
  CHECK_FAILS(predictor.predict(StringTensor({"\xff\xff"})), ErrorKind::kInvalidArgument, "row 0");
}

TEST_CASE("A request that does not fit the signature is refused by the input's name", "[export][predictor]") {
  const TemporaryDirectory folder;
  const Predictor predictor(exported(folder, small_request(at::tensor({2.0F, 3.0F}))));
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 3})}}), ErrorKind::kInvalidArgument, "'x' is Float[1, 3]");
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 2}, at::kDouble)}}), ErrorKind::kInvalidArgument, "Double");
  CHECK_FAILS(predictor.predict({{"x", at::ones({2})}}), ErrorKind::kInvalidArgument, "'x'");
  CHECK_FAILS(predictor.predict({{"x", StringTensor({"a"})}}), ErrorKind::kInvalidArgument, "String");
  CHECK_FAILS(predictor.predict({{"z", at::ones({1, 2})}}), ErrorKind::kInvalidArgument, "'z'");
  CHECK_FAILS(predictor.predict(TensorDict()), ErrorKind::kNotFound, "'x'");
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 2})}}, "none"), ErrorKind::kNotFound, "'sum'");
  CHECK(predictor.predict({{"x", at::ones({0, 2})}}, "sum")["outputs"].size(0) == 0);
}

TEST_CASE("What the model refuses is told in its words, and the predictor stays usable", "[export][predictor]") {
  const TemporaryDirectory folder;
  const at::Tensor table = at::randn({4, 2});
  const ExportRequest request{
      .function = [table](const Features& features) -> ExportOutputs {
        return {{kServingDefault, PredictOutput{{{"y", at::embedding(table, features["id"])}}}}};
      },
      .receiver = ServingInputReceiver(
          std::vector<std::pair<std::string, TensorSpec>>{{"id", {.dtype = at::kLong, .shape = {-1}, .high = 4}}}),
      .variables = {{"table", table}}};
  const Predictor predictor(exported(folder, request));
  CHECK_FAILS(predictor.predict({{"id", at::tensor({9}, at::kLong)}}), ErrorKind::kInvalidArgument,
              "index out of range");
  CHECK(close(predictor.predict({{"id", at::tensor({3}, at::kLong)}})["y"], table.narrow(0, 3, 1)));
}

TEST_CASE("A predictor says what it cannot do", "[export][predictor]") {
  const TemporaryDirectory folder;
  const std::string path = exported(folder, small_request(at::tensor({2.0F, 3.0F})));
  CHECK_FAILS(Predictor(path, {.device = "nonsense"}), ErrorKind::kInvalidArgument, "'nonsense'");
  CHECK_FAILS(Predictor(path, {.device = "meta"}), ErrorKind::kUnimplemented, "'meta'");
  Predictor predictor(path);
  const auto invalid = ErrorKind::kInvalidArgument;
  CHECK_FAILS(predictor.predict({{"x", at::Tensor()}}), invalid, "'x' is not a dense tensor");
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 2}).to_sparse()}}), invalid, "'x' is not a dense tensor");
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 2}, at::TensorOptions("meta"))}}), invalid, "not a dense tensor");
  const Predictor other(std::move(predictor));
  CHECK_FAILS(predictor.predict({{"x", at::ones({1, 2})}}), ErrorKind::kFailedPrecondition, "moved from");
  CHECK_FAILS(predictor.signature_names(), ErrorKind::kFailedPrecondition, "moved from");
  CHECK(other.predict({{"x", at::ones({1, 2})}})["y"].numel() == 2);
}

TEST_CASE("Threads share a predictor", "[export][predictor]") {
  const TemporaryDirectory folder;
  const ReceiverModel model = examples_model(folder.path());
  const Predictor predictor(exported(folder, model.request));
  std::vector<TensorDict> wanted;
  for (const TensorDict& request : model.requests) wanted.push_back(predictor.predict(request));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        const size_t which = (i + thread) % model.requests.size();
        if (!close(predictor.predict(model.requests[which])["scores"], wanted[which]["scores"])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("A foreign TorchScript file has one signature", "[export][predictor]") {
  const TemporaryDirectory folder;
  torch::jit::Module module("Foreign");
  module.define("def forward(self, a, b):\n    return {'sum': a + b, 'product': a * b}\n");
  const std::string path = folder.path() + "/foreign.pt";
  module.save(path);
  const Predictor predictor(path);
  CHECK(predictor.signature_names() == std::vector<std::string>{kServingDefault});
  CHECK_FALSE(predictor.signature().inputs[0].is_typed);
  const at::Tensor a = at::randn({2, 3});
  const TensorDict outputs = predictor.predict({{"a", a}, {"b", a}});
  CHECK(close(outputs["sum"], a + a));
  CHECK(close(outputs["product"], a * a));
  torch::jit::Module pair("Pair");
  pair.define("def forward(self, x):\n    return x + 1, x - 1\n");
  pair.save(path);
  CHECK(close(Predictor(path).predict(a)["output_1"], a - 1));
}

TEST_CASE("A damaged file is an error that names it", "[export][predictor]") {
  const TemporaryDirectory folder;
  const std::string export_path = exported(folder, small_request(at::tensor({2.0F, 3.0F})));
  const std::string path = export_path + "/torchscript/model.pt";
  std::string bytes = read_file(posix_file_system(), path);
  write_file_atomically(posix_file_system(), path, bytes.substr(0, bytes.size() / 2));
  CHECK_FAILS(Predictor(export_path), ErrorKind::kDataLoss, "model.pt");
  write_file_atomically(posix_file_system(), path, "");
  CHECK_FAILS(Predictor(export_path), ErrorKind::kDataLoss, "nothing in the archive");
  // One bit of a weight.
  const float weight[] = {2.0F, 3.0F};
  const size_t place = bytes.find(std::string(reinterpret_cast<const char*>(weight), sizeof(weight)));
  REQUIRE(place != std::string::npos);
  bytes[place + 1] ^= 4;
  write_file_atomically(posix_file_system(), path, bytes);
  CHECK_FAILS(Predictor(export_path), ErrorKind::kDataLoss, "CRC");
  posix_file_system().remove_file(path);
  CHECK_FAILS(Predictor(export_path), ErrorKind::kUnimplemented, "torchscript/model.pt");
  posix_file_system().rename(export_path + "/saved_model.pb", export_path + "/saved_model.pbtxt");
  CHECK_FAILS(Predictor(export_path), ErrorKind::kUnimplemented, "torchscript/model.pt");
}

TEST_CASE("A description that does not fit its module is refused", "[export][predictor]") {
  const TemporaryDirectory folder;
  torch::jit::Module module("Wrong");
  module.define("def forward(self, a):\n    return a\n");
  const std::string path = folder.path() + "/wrong.pt";
  const auto refused = [&](const std::string& description, const std::string& part) {
    module.save(path, {{"belfry_signature.json", description}});
    CHECK_FAILS(Predictor(path), ErrorKind::kDataLoss, part);
  };
  const std::string signature = R"({"kind": "predict", "method": "METHOD", "inputs": [INPUTS], "outputs": []})";
  const auto described = [&](const std::string& method, const std::string& inputs) {
    std::string text = signature;
    text.replace(text.find("METHOD"), 6, method);
    text.replace(text.find("INPUTS"), 6, inputs);
    return R"({"format": 1, "signatures": {"serving_default": )" + text + "}}";
  };
  refused("{", "not whole");
  refused(R"({"format": 7})", "format 7");
  refused(described("other", ""), "no method 'other'");
  refused(described("forward", ""), "takes 1 tensors");
  refused(described("forward", R"({"name": "a", "dtype": "float99", "shape": [-1]})"), "float99");
  // A receiver that makes no feature "a".
  ReceiverBuilder builder;
  builder.set_feature("b", builder.input("b", {.shape = {-1}}));
  module.save(path,
              {{"belfry_signature.json", described("forward", R"({"name": "a", "dtype": "float32", "shape": [-1]})")},
               {"belfry_receiver.json", internal::receiver_json(*std::move(builder).build().graph())}});
  CHECK_FAILS(Predictor(path), ErrorKind::kDataLoss, "does not make 'a', Float[-1]");
}
