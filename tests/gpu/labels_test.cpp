// Labels that are no class, on a GPU.
#include <ATen/ATen.h>

#include "estimator/canned/dnn_classifier.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"

namespace belfry::testing {
namespace {

void train(int64_t n_classes, int64_t label) {
  const TemporaryDirectory folder;
  DNNClassifier classifier({.hidden_units = {3},
                            .feature_columns = {feature_column::numeric_column("x", {.shape = {2}})},
                            .n_classes = n_classes},
                           {.model_dir = folder.path()}, replicate({.devices = {"cuda:0"}}));
  const Labels labels = at::tensor(std::vector<int64_t>{0, 1, 1, label});
  classifier.train(
      [&] {
        return Dataset::from_tensors({{"x", at::ones({4, 2})}}, labels).batch(4).repeat();
      },
      {.steps = 3});
}

TEST_CASE("A label that is no class ends a training on a GPU before it reaches a variable", "[gpu][E77][E78]") {
  NEEDS_GPUS(1);
  CHECK_NOTHROW(train(2, 1));
  CHECK_FAILS(train(2, 5), ErrorKind::kNanLoss, "the loss of step 1 is not a number");
  CHECK_FAILS(train(2, -1), ErrorKind::kNanLoss, "the variables are those of step 0");
  CHECK_NOTHROW(train(3, 2));
  CHECK_FAILS(train(3, 5), ErrorKind::kOutOfRange, "class 5 in row 3 of the batch");
}

}  // namespace
}  // namespace belfry::testing
