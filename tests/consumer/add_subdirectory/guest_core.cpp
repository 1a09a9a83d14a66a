// One folder of Belfry alone, in a program whose project asks for C++17.
#include <ATen/Functions.h>

#include "core/tensor_dict.h"

static_assert(__cplusplus >= 202002L, "belfry::core brings its standard along");

int main() {
  const belfry::TensorDict dict{{"x", at::ones({3, 2})}, {"y", at::zeros({3})}};
  return dict.rows() == 3 && dict["x"].sum().item<float>() == 6 ? 0 : 1;
}
