#include "distribute/internal/flat_cache.h"

#include <ATen/ATen.h>

#include <deque>

#include "tests/testing.h"

using belfry::Variable;
using belfry::VariableKind;
using belfry::internal::FlatCache;

namespace {

// Variables and the tensors that follow them, on one device for want of two.
struct Followed {
  void add(const std::string& name, const at::Tensor& value) {
    variables.emplace_back(name, value, VariableKind::kParameter);
    tensors.push_back(at::empty({0}, value.options()).requires_grad_(value.is_floating_point()));
    cache.add(variables.back(), tensors.back());
  }
  void check_equal() const {
    for (size_t i = 0; i < tensors.size(); ++i) {
      INFO(variables[i].name());
      CHECK(tensors[i].equal(variables[i].value()));
      CHECK(tensors[i].strides() == variables[i].value().strides());
      if (tensors[i].numel() > 0) CHECK(tensors[i].const_data_ptr() != variables[i].value().const_data_ptr());
    }
  }
  std::deque<Variable> variables;
  std::vector<at::Tensor> tensors;
  FlatCache cache{at::Device(at::kCPU)};
};

}  // namespace

TEST_CASE("tensors follow their variables, in their layout, by one transfer a dtype", "[flat_cache]") {
  Followed followed;
  followed.add("a", at::arange(6.0).view({2, 3}).to(at::kFloat));
  followed.add("image", at::arange(24, at::kFloat).view({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast));
  followed.add("scalar", at::full({}, 3.0F));
  followed.add("empty", at::empty({0, 4}));
  followed.cache.refresh();
  followed.check_equal();
  CHECK(followed.cache.transfers() == 1);
  followed.add("double", at::ones({5}, at::kDouble));
  followed.cache.refresh();
  followed.check_equal();
  CHECK(followed.cache.transfers() == 3);  // all anew: the block has another form
  for (Variable& variable : followed.variables) variable.assign(variable.value() + 1);
  followed.cache.refresh();
  followed.check_equal();
  CHECK(followed.cache.transfers() == 5);
  CHECK(followed.tensors[0].requires_grad());
  CHECK(followed.tensors[0].is_leaf());
}

TEST_CASE("what has not changed is not copied", "[flat_cache]") {
  Followed followed;
  for (const char* name : {"a", "b", "c"}) followed.add(name, at::ones({4}));
  followed.cache.refresh();
  followed.cache.refresh();
  CHECK(followed.cache.transfers() == 1);
  followed.variables[1].assign(at::full({4}, 7.0));
  followed.cache.refresh();
  followed.check_equal();
  CHECK(followed.cache.transfers() == 2);
  followed.cache.clear();
  followed.variables[1].assign(at::full({4}, 8.0));
  followed.cache.refresh();
  CHECK(followed.tensors[1].equal(at::full({4}, 7.0)));
}
