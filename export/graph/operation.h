// What a node of an exported graph can compute. Operations have a meaning of their own, in LibTorch's layouts; those of
// a format, and LibTorch's many spellings, are mapped from and to them.
#pragma once

#include <optional>
#include <string_view>

namespace belfry {

enum class Operation {
  // Sources.
  kInput,     // attribute "name"
  kVariable,  // attributes "name", "value"
  kConstant,  // attribute "value"
  // One operand, shape and dtype kept (kIsNan and the like give bool).
  kAbs,
  kNegate,
  kSign,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSquare,
  kSin,
  kCos,
  kErf,
  kFloor,
  kCeil,
  kRound,
  kSigmoid,
  kTanh,
  kRelu,
  kSoftplus,
  kLogicalNot,
  kBitwiseNot,
  kIsNan,
  kIsInf,
  // Two operands of one dtype, broadcast against each other.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kTruncateDivide,
  kFloorModulo,
  kPower,
  kMaximum,
  kMinimum,
  kAtan2,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kSelect,  // (bool condition, then, otherwise), all broadcast
  kCast,    // to the output's dtype: toward zero for integers, "is not zero" for bool
  // "axes", "keep": over these axes of one operand. kAny and kAll take bool.
  kSum,
  kMean,
  kProduct,
  kMax,
  kMin,
  kAny,
  kAll,
  kArgMax,
  kArgMin,         // "axis", "keep": the first of equal ones, int64
  kCumulativeSum,  // "axis"
  kTopK,           // (x, int64 k): "axis", "largest": values in order and int64 indices
  kSoftmax,
  kLogSoftmax,  // "axis"
  // Sizes.
  kSize,   // "axis": int64 scalar
  kStack,  // scalars or tensors of one shape: "axis"
  // Shapes.
  kReshape,      // (x, int64 shape): one size may be -1
  kTranspose,    // "permutation"
  kBroadcast,    // (x, int64 shape)
  kSqueeze,      // "axes", each of size 1
  kUnsqueeze,    // "axes" of the result, ascending
  kConcatenate,  // "axis"
  kSplit,        // "axis", "sizes": an output each
  kSlice,  // (x, int64 begin, int64 end): "axis", "step" > 0; negative ones count from the end, a large end is the end
  kPad,    // (x, scalar value): "before", "after", not negative, a number for each axis
  kMirrorPad,  // like kPad, reflected without the edge
  kReverse,    // "axes"
  kTile,       // "repeats", one for each axis
  kBandPart,   // "lower", "upper": diagonals that are kept below and above the main one, -1 for all; else zero
  kRange,      // (start, limit, step) scalars
  // Indexing.
  kGather,           // (x, indices): "axis"; the indices' shape takes its place
  kGatherElements,   // (x, indices of the same rank): "axis"
  kGatherNd,         // (x, int64 indices [..., k]): the first k axes
  kScatterElements,  // (x, indices, updates of the indices' shape): "axis"; "reduce" "add" where they are added to x
  kNonZero,          // (bool x): int64 [n, rank] in row-major order
  kOneHot,           // (int64 indices): "depth": int64, a new last axis
  // Layers. Images are [batch, channels, ...], weights as LibTorch has them.
  kLinear,                 // (x, weight [out, in], bias?)
  kMatmul,                 // (a, b) of rank 2 or more, leading axes broadcast
  kEinsum,                 // "equation"
  kConvolution,            // (x, weight, bias?): "strides", "before", "after", "dilations", "groups"
  kTransposedConvolution,  // (x, weight, bias?): "strides", "padding", "output_padding", "dilations", "groups"
  kMaxPool,                // "kernel", "strides", "padding", "dilations", "ceil"
  kAveragePool,            // "kernel", "strides", "padding", "ceil", "count_padding"
  kResizeNearest,          // "size"
  kResizeLinear,           // "size", "align_corners"
  kBatchNormalization,     // (x, scale, shift, mean, variance): "epsilon"
  kLayerNormalization,     // (x): over the last "axes_count" axes, "epsilon"; without scale and shift
  // One layer in one direction: (x [time, batch, in], h [batch, n], weight_ih, weight_hh, bias_ih?, bias_hh?):
  // "reverse";
  // gives all outputs [time, batch, n]. kLstm takes c behind h and gives the last c too. Gates in LibTorch's order.
  kLstm,
  kGru,
  kRnn,  // and "nonlinearity", tanh or relu
  // Strings, and what becomes of them.
  kStringConstant,    // attribute "strings"
  kParseExample,      // (string [batch] of serialized tf.Example): see GraphBuilder::parse_example
  kHashBucket,        // (strings): "buckets": int64, Fingerprint64 modulo the buckets
  kVocabularyLookup,  // (strings): "words", "file", "buckets", "default": int64, see GraphBuilder::vocabulary_lookup
  kCrossHash,         // (strings or int64 of [batch, n_i], ...): "buckets", "key": int64 [batch, product of the n_i]
  kBucketize,         // (floats): "boundaries", a float vector: int64, how many boundaries are not above x
  kAsString,          // (int64): the decimal digits
  // What no operation expresses. "name", "reason".
  kUnsupported,
};

// "matmul", "layer_normalization" and so on.
const char* to_string(Operation operation);
// The operation of that name.
std::optional<Operation> operation_of(std::string_view name);

}  // namespace belfry
