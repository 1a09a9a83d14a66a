// All of Belfry. Including the one header that is needed compiles faster.
#pragma once

#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "core/log.h"
#include "core/record_io.h"
#include "core/string_tensor.h"
#include "core/tensor_dict.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/classes.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "estimator/metrics/metric.h"
#include "estimator/summaries/event_reader.h"
#include "estimator/summaries/event_writer.h"
