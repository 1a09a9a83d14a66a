// All of Belfry. Including the one header that is needed compiles faster.
#pragma once

#include "checkpoint/checkpoint_entry.h"
#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/checkpoint_writer.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "core/record_io.h"
#include "core/string_tensor.h"
#include "core/tensor_dict.h"
