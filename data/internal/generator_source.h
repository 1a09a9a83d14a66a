// Elements from the user's function.
#pragma once

#include <functional>

#include "data/generator.h"
#include "data/internal/node.h"

namespace belfry::data_internal {

class GeneratorSource : public Node {
 public:
  GeneratorSource(std::function<Generator()> factory, GeneratorOptions options);

  std::string describe() const override;
  int64_t cardinality() const override;
  bool batched() const override { return options_.batched; }
  std::unique_ptr<Stream> open(int64_t pass) const override;

 private:
  std::function<Generator()> factory_;
  GeneratorOptions options_;
};

}  // namespace belfry::data_internal
