// All of Belfry. Including the one header that is needed compiles faster.
#pragma once

#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "core/record_io.h"
#include "core/string_tensor.h"
#include "core/tensor_dict.h"
#include "export/export_directory.h"
#include "export/export_output.h"
#include "export/name_mangling.h"
#include "export/saved_model_export.h"
#include "export/serving_input_receiver.h"
#include "export/torchscript_writer.h"
#include "export/trace.h"
