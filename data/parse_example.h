// Tensors from serialized tf.Example messages.
#pragma once

#include "../core/string_tensor.h"
#include "../core/tensor_dict.h"
#include "feature_spec.h"

namespace belfry {

// A tensor of shape [rows, shape...] for each of `specs`, in their order, on the CPU: tf.io.parse_example. `serialized`
// has shape [rows], with one tf.Example a row; features that no spec names are passed over, whatever they hold.
//
// An example lacks a feature that it does not name, or names without a list: then it gets the spec's default or
// padding. A list without values is not that: as in TensorFlow, a FixedLenFeature refuses it for its number of values.
//
// kInvalidArgument, with the row and the name, for a required feature that is lacking, another number of values, and a
// list of another kind; with the row, for bytes that are no Example; for strings of another shape; and as
// check(specs) says. A message whose feature names are not UTF-8 is no Example here. Of a row no more is held than a
// small multiple of its bytes.
TensorDict parse_example(const StringTensor& serialized, const FeatureSpecs& specs);

}  // namespace belfry
