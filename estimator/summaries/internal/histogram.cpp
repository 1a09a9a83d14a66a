#include "estimator/summaries/internal/histogram.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "core/error.h"

namespace belfry::internal {
namespace {

constexpr double kSmallest = 1e-12;
constexpr double kLargest = 1e20;
constexpr double kGrowth = 1.1;

// Upper ends of the buckets, from the one of all large negative numbers to that of all large positive ones.
std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = kSmallest; limit < kLargest; limit *= kGrowth) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& limits() {
  static const std::vector<double> all = make_limits();
  return all;
}

at::Tensor count_buckets(const at::Tensor& values) {
  const auto size = static_cast<int64_t>(limits().size());
  const at::Tensor ends = at::tensor(limits(), at::kDouble).to(values.device());
  const at::Tensor buckets = at::bucketize(values, ends, /*out_int32=*/false, /*right=*/true).clamp_max(size - 1);
  return at::zeros({size}, values.options()).index_add_(0, buckets, at::ones_like(values)).cpu();
}

void set_moments(const at::Tensor& values, proto::HistogramProto& histogram) {
  const at::Tensor moments = at::stack({values.min(), values.max(), values.sum(), values.square().sum()}).cpu();
  const double* moment = moments.const_data_ptr<double>();
  histogram.set_min(moment[0]);
  histogram.set_max(moment[1]);
  histogram.set_num(static_cast<double>(values.numel()));
  histogram.set_sum(moment[2]);
  histogram.set_sum_squares(moment[3]);
}

void set_buckets(const at::Tensor& counts, proto::HistogramProto& histogram) {
  const double* count = counts.const_data_ptr<double>();
  const size_t size = limits().size();
  for (size_t i = 0; i < size; ++i) {
    const bool ends_empty_run = count[i] == 0 && (i + 1 == size || count[i + 1] != 0);
    if (count[i] == 0 && !ends_empty_run) continue;
    histogram.add_bucket_limit(limits()[i]);
    histogram.add_bucket(count[i]);
  }
}

}  // namespace

proto::HistogramProto make_histogram(std::string_view tag, const at::Tensor& tensor) {
  require(tensor.defined() && !tensor.is_complex(), "histogram '", tag, "' wants a tensor of real numbers");
  const at::Tensor values = tensor.detach().flatten().to(at::kDouble);
  const int64_t bad = values.numel() - values.isfinite().sum().item<int64_t>();
  require(bad == 0, "histogram '", tag, "': ", bad, " of ", values.numel(), " elements are NaN or infinite");
  proto::HistogramProto histogram;
  set_moments(values, histogram);
  set_buckets(count_buckets(values), histogram);
  return histogram;
}

}  // namespace belfry::internal
