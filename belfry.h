// All of Belfry. Including the one header that is needed compiles faster.
#pragma once

#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "core/record_io.h"
#include "core/string_tensor.h"
#include "core/tensor_dict.h"
#include "data/batch.h"
#include "data/csv_options.h"
#include "data/dataset.h"
#include "data/dataset_iterator.h"
#include "data/generator.h"
#include "data/input_context.h"
#include "data/input_fn.h"
#include "data/tensor_input_fn.h"
