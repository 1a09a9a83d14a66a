#include "distribute/random_scope.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <map>
#include <optional>

#include "core/hash64.h"
#include "distribute/internal/batch_norm_kernel.h"
#include "distribute/internal/dropout_kernel.h"
#include "distribute/internal/replica_key.h"

namespace belfry {
namespace {

constexpr auto kKey = internal::kReplicaKey;

class Generators {
 public:
  void start(uint64_t seed) {
    seed_ = seed;
    fresh_.clear();
  }

  bool any_drawn() const { return !fresh_.empty(); }

  // Seeded at first use: seeding the Mersenne twister costs more than most steps draw.
  const at::Generator& for_device(c10::Device device) {
    // "cuda" is the GPU that is current: one generator, however it is called.
    if (!device.is_cpu() && !device.has_index()) device = c10::impl::VirtualGuardImpl(device.type()).getDevice();
    auto found = generators_.find(device);
    if (found == generators_.end()) found = generators_.emplace(device, make(device)).first;
    bool& seeded = fresh_[device];
    if (!seeded) {
      found->second.set_current_seed(hash64_combine(seed_, static_cast<uint64_t>(device.type())));
      seeded = true;
    }
    return found->second;
  }

 private:
  static at::Generator make(c10::Device device) {
    if (device.is_cpu()) return at::make_generator<at::CPUGeneratorImpl>();
    return at::globalContext().defaultGenerator(device).clone();
  }

  struct Less {
    bool operator()(c10::Device a, c10::Device b) const {
      return std::pair(a.type(), a.index()) < std::pair(b.type(), b.index());
    }
  };
  uint64_t seed_ = 0;
  std::map<c10::Device, at::Generator, Less> generators_;
  std::map<c10::Device, bool, Less> fresh_;
};

thread_local Generators* current = nullptr;

c10::Device device_of_call(const torch::jit::Stack& stack, const c10::FunctionSchema& schema) {
  const size_t first = stack.size() - schema.arguments().size();
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (value.isTensor() && value.toTensor().defined()) return value.toTensor().device();
    if (value.isDevice()) return value.toDevice();
  }
  return c10::Device(c10::kCPU);
}

void put_generator(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = operation.schema();
  const size_t first = stack->size() - schema.arguments().size();
  for (size_t i = 0; current && i < schema.arguments().size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (schema.arguments()[i].name() == "generator" && value.isNone()) {
      value = current->for_device(device_of_call(*stack, schema));
    }
  }
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  operation.callBoxed(stack);
}

bool takes_generator(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.name() == "generator") return true;
  }
  return false;
}

// Registered once a process and never taken back: a library that unregisters itself at exit would race with other
// threads' last operations.
bool register_kernels() {
  static auto* others = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  others->fallback(torch::CppFunction::makeFallthrough());
  static auto* random = new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto operation = c10::Dispatcher::singleton().findSchema(name);
    if (!operation || !takes_generator(operation->schema())) continue;
    const std::string full = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
    random->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&put_generator>());
  }
  internal::register_batch_norm();
  internal::register_dropout();
  return true;
}

Generators& generators_of_thread(size_t depth) {
  thread_local std::vector<std::unique_ptr<Generators>> pool;
  while (pool.size() <= depth) pool.push_back(std::make_unique<Generators>());
  return *pool[depth];
}

thread_local size_t depth = 0;

}  // namespace

struct RandomScope::Impl {
  Generators* outer = current;
  Generators* own = nullptr;
  std::optional<c10::impl::IncludeDispatchKeyGuard> mode;
};

RandomScope::RandomScope(uint64_t seed) : impl_(std::make_unique<Impl>()) {
  static const bool registered = register_kernels();
  (void)registered;
  current = &generators_of_thread(depth++);
  current->start(seed);
  impl_->own = current;
  impl_->mode.emplace(kKey);
}

bool RandomScope::was_drawn_from() const { return impl_->own->any_drawn(); }

RandomScope::~RandomScope() {
  impl_->mode.reset();
  current = impl_->outer;
  --depth;
}

}  // namespace belfry
