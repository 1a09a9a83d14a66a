#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;

ExportCases view_cases() {
  return {
      of_one("view",
             [](const Tensor& x) {
               return x.view({-1, 24});
             }),
      of_one("view_size",
             [](const Tensor& x) {
               return x.view({x.size(0), -1});
             }),
      of_one("view_product",
             [](const Tensor& x) {
               return x.reshape({x.size(0) * x.size(1), x.size(2)});
             }),
      of_one("view_as",
             [](const Tensor& x) {
               return x.view({-1, 6, 4}).view_as(x);
             }),
      of_one("flatten", [](const Tensor& x) { return x.flatten(1); }),
      of_one("flatten_all", [](const Tensor& x) { return x.flatten(); }),
      of_one("flatten_front", [](const Tensor& x) { return x.flatten(0, 1); }),
      of_one("unflatten",
             [](const Tensor& x) {
               return x.unflatten(2, {2, 3});
             }),
      of_one("unflatten_inferred",
             [](const Tensor& x) {
               return x.unflatten(1, {-1, 2});
             }),
      of_one("squeeze", [](const Tensor& x) { return x.sum(1, true).squeeze(1); }),
      of_one("squeeze_other_size", [](const Tensor& x) { return x.squeeze(1); }),
      of_one("unsqueeze", [](const Tensor& x) { return x.unsqueeze(-2); }),
      of_one("transpose", [](const Tensor& x) { return x.transpose(1, 2); }),
      of_one("permute",
             [](const Tensor& x) {
               return x.permute({2, 0, 1});
             }),
      of_one("t", [](const Tensor& x) { return x.select(1, 0).t(); }),
      of_one("movedim", [](const Tensor& x) { return x.movedim(1, -1); }),
      of_one("movedims",
             [](const Tensor& x) {
               return x.unsqueeze(1).movedim({0, 2}, {3, 0});
             }),
      of_one("expand",
             [](const Tensor& x) {
               return x.narrow(1, 0, 1).expand({-1, 4, 6}) + 0;
             }),
      of_one("expand_front",
             [](const Tensor& x) {
               return x.expand({2, -1, -1, -1}) * 1;
             }),
      of_one("expand_as", [](const Tensor& x) { return x.narrow(2, 0, 1).expand_as(x) * 1; }),
      of_one("slice", [](const Tensor& x) { return x.slice(1, 1, -1).slice(2, 0, std::nullopt, 2); }),
      of_one("slice_rows", [](const Tensor& x) { return x.slice(0, 1); }),
      of_one("slice_end", [](const Tensor& x) { return x.slice(2, -3); }),
      of_one("slice_to_size", [](const Tensor& x) { return x.slice(0, 0, x.size(0) - 1); }),
      of_one("indexing",
             [](const Tensor& x) {
               return x.index({Slice(), Slice(1, 3), None, 2});
             }),
      of_one("select", [](const Tensor& x) { return x.select(1, -1); }),
      of_one("select_two", [](const Tensor& x) { return x.select(1, 2); }),
      of_one("select_last_row", [](const Tensor& x) { return x.select(0, x.size(0) - 1); }),
      of_one("narrow", [](const Tensor& x) { return x.narrow(1, 1, 2); }),
      of_one("narrow_last", [](const Tensor& x) { return x.narrow(1, -2, 2) + x.narrow(1, -3, 2); }),
      of_one("tril", [](const Tensor& x) { return x.tril(); }),
      of_one("tril_up", [](const Tensor& x) { return x.tril(1); }),
      of_one("tril_down", [](const Tensor& x) { return x.tril(-1); }),
      of_one("triu", [](const Tensor& x) { return x.triu(); }),
      of_one("triu_up", [](const Tensor& x) { return x.triu(1); }),
      of_one("triu_down", [](const Tensor& x) { return x.triu(-2); }),
      of_one("flip",
             [](const Tensor& x) {
               return x.flip({1, 2});
             }),
      of_one("roll",
             [](const Tensor& x) {
               return x.roll({1, -2}, {2, 1});
             }),
      of_one("identities", [](const Tensor& x) { return at::dropout(x.contiguous().detach().clone(), 0.5, false); }),
  };
}

ExportCases join_cases() {
  return {
      of_one("hstack",
             [](const Tensor& x) {
               return torch::hstack({x, x * 2});
             }),
      of_one("vstack",
             [](const Tensor& x) {
               return torch::vstack({x.sum(2), torch::ones({4})});
             }),
      of_one("column_stack",
             [](const Tensor& x) {
               return torch::column_stack({x.sum(2), x.sum({1, 2})});
             }),
      of_one("tensor_split",
             [](const Tensor& x) {
               const auto parts = x.tensor_split(4, 2);
               return torch::cat({parts[3], parts[0]}, 2);
             }),
      of_one("tensor_split_places",
             [](const Tensor& x) {
               return x.tensor_split({1, 4}, 2)[1];
             }),
      of_one("vecdot", [](const Tensor& x) { return torch::linalg_vecdot(x, x + 1); }),
      of_one("fliplr", [](const Tensor& x) { return x.fliplr() + x.flipud(); }),
      of_one("channel_shuffle", [](const Tensor& x) { return torch::channel_shuffle(x, 2); }, {.shape = {-1, 6, 3, 3}}),
      of_one("tile",
             [](const Tensor& x) {
               return torch::tile(x, {2, 1}) + torch::tile(x, {1, 2, 1});
             }),
      of_one("swapdims", [](const Tensor& x) { return x.swapdims(1, 2); }),
      of_one("outer",
             [](const Tensor& x) {
               return torch::outer(x.sum({1, 2}), torch::arange(3));
             }),
      of_one("diff", [](const Tensor& x) { return x.diff(); }),
      of_one("diff_twice",
             [](const Tensor& x) {
               return x.diff(2, 1, torch::zeros({1, 1, 6}).expand({x.size(0), 1, 6}));
             }),
      of_one("diff_of_bool", [](const Tensor& x) { return (x > 0).diff(1, 1); }),
      of_one("diff_rows",
             [](const Tensor& x) {
               return torch::cat({x, x * 2}).diff(1, 0);
             }),
      of_one("unfold", [](const Tensor& x) { return x.unfold(2, 3, 2).unfold(1, 2, 1); }),
      of_one("unfold_image",
             [](const Tensor& x) {
               return F::unfold(x, F::UnfoldFuncOptions({3, 2}).padding({1, 0}).stride({2, 1}).dilation({1, 2}));
             },
             {.shape = {-1, 3, 7, 6}}),
      of_one("cat",
             [](const Tensor& x) {
               return at::cat({x, x * 2}, -1);
             }),
      of_one("cat_promotes",
             [](const Tensor& x) {
               return at::cat({x, (x * 2).to(torch::kLong)}, 1);
             }),
      of_one("cat_rows",
             [](const Tensor& x) {
               return at::cat({x, x.slice(0, 1)}, 0);
             }),
      of_one("stack",
             [](const Tensor& x) {
               return at::stack({x, x + 1}, 1);
             }),
      of_one("split",
             [](const Tensor& x) {
               return at::cat({x.split(3, 1)[1], x.split(3, 1)[0]}, 1);
             }),
      of_one("split_sizes",
             [](const Tensor& x) {
               return x.split_with_sizes({1, 5}, 2)[1];
             }),
      of_one("chunk", [](const Tensor& x) { return x.chunk(3, 2)[1]; }),
      of_one("chunk_uneven", [](const Tensor& x) { return x.chunk(3, 1).back(); }),
      of_one("chunk_in_place",
             [](const Tensor& x) {
               const auto parts = (x * 1).unsafe_chunk(2, 2);
               return parts[0].sigmoid_() * parts[1].tanh_();
             }),
      of_one("unbind", [](const Tensor& x) { return x.unbind(1)[2]; }),
      of_one("repeat",
             [](const Tensor& x) {
               return x.repeat({1, 2, 3});
             }),
      of_one("repeat_front",
             [](const Tensor& x) {
               return x.repeat({2, 1, 1, 1});
             }),
      of_one("repeat_by_batch",
             [](const Tensor& x) {
               return at::arange(3, at::kFloat).repeat({x.size(0), 2}) + x.sum();
             }),
      of_one("repeat_rows_by_batch",
             [](const Tensor& x) {
               return at::arange(6, at::kFloat).view({3, 2}).repeat({x.size(0), 1}) + x.sum();
             }),
      of_one("repeat_interleave", [](const Tensor& x) { return x.repeat_interleave(2, 1); }),
      of_one("repeat_interleave_rows", [](const Tensor& x) { return x.repeat_interleave(3, 0); }),
      of_one("repeat_interleave_flat", [](const Tensor& x) { return x.repeat_interleave(2); }),
      of_two("broadcast_tensors",
             [](const Tensor& a, const Tensor& b) {
               const auto both = at::broadcast_tensors({a.unsqueeze(1), b.unsqueeze(2)});
               return both[0] + both[1];
             }),
      of_one("pad",
             [](const Tensor& x) {
               return at::constant_pad_nd(x, {1, 2, 0, 1}, 0.5);
             }),
      of_one("pad_negative",
             [](const Tensor& x) {
               return at::pad(x, {-1, 2});
             }),
      of_one("pad_reflect",
             [](const Tensor& x) {
               return F::pad(x, F::PadFuncOptions({2, 1}).mode(torch::kReflect));
             }),
      of_one("pad_replicate",
             [](const Tensor& x) {
               return F::pad(x, F::PadFuncOptions({2, 1}).mode(torch::kReplicate));
             }),
      of_one("pad_circular",
             [](const Tensor& x) {
               return F::pad(x, F::PadFuncOptions({2, 1}).mode(torch::kCircular));
             }),
      of_one(
          "pixel_shuffle", [](const Tensor& x) { return at::pixel_shuffle(x, 2); }, floats({-1, 8, 3, 5})),
      of_one(
          "pixel_unshuffle", [](const Tensor& x) { return at::pixel_unshuffle(x, 2); }, floats({-1, 2, 4, 6})),
  };
}

ExportCases creation_cases() {
  return {
      of_one("arange", [](const Tensor& x) { return x + at::arange(6); }),
      of_one("arange_step", [](const Tensor& x) { return x + at::arange(1.0, 4.0, 0.5); }),
      of_one("arange_rows",
             [](const Tensor& x) {
               return x + at::arange(x.size(0)).view({-1, 1, 1});
             }),
      of_one("zeros",
             [](const Tensor& x) {
               return at::cat({x, at::zeros({x.size(0), 1, 6})}, 1);
             }),
      of_one("linspace", [](const Tensor& x) { return x * torch::linspace(0, 1, 6); }),
      of_one("eye_of_pieces",
             [](const Tensor& x) {
               const auto parts = torch::tensor_split(torch::eye(6), 2, 1);
               return x.matmul(parts[1]);
             }),
      of_one("meshgrid",
             [](const Tensor& x) {
               const auto grid = torch::meshgrid({torch::arange(4), torch::arange(6)}, "ij");
               return x * grid[0] + grid[1];
             }),
      of_one("zeros_like", [](const Tensor& x) { return at::zeros_like(x) + at::ones_like(x) * x; }),
      of_one("ones",
             [](const Tensor& x) {
               return at::ones({x.size(0), 4, 1}) * x;
             }),
      of_one("full",
             [](const Tensor& x) {
               return at::full({x.size(0), 1, 1}, 3.5) + x;
             }),
      of_one("full_like", [](const Tensor& x) { return at::full_like(x, 2) - x; }),
      of_one("new_zeros",
             [](const Tensor& x) {
               return x.new_zeros({x.size(0), 4, 6}) + x;
             }),
      of_one("new_full",
             [](const Tensor& x) {
               return x.new_full({x.size(0), 4, 6}, 0.25) + x;
             }),
      of_one("divide_by_rows", [](const Tensor& x) { return x / x.size(0); }),
      of_one("copy",
             [](const Tensor& x) {
               return at::zeros({x.size(0), 4, 6}).copy_(x) * 2;
             }),
      of_one("fill", [](const Tensor& x) { return (x * 1).fill_(3) + x; }),
      of_one("zero", [](const Tensor& x) { return (x * 1).zero_() + x; }),
  };
}

}  // namespace

ExportCases shape_cases() {
  ExportCases all;
  for (const auto part : {view_cases, join_cases, creation_cases}) {
    for (ExportCase& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace belfry::testing
