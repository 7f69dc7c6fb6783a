// kvcodec: KV-cache codecs for transformer inference. Everything but the adapters (adapt/) and the quality measures
// (quality/).
#pragma once

#include "cache/attention.hpp"
#include "cache/kv_cache.hpp"
#include "calibration.hpp"
#include "codec.hpp"
#include "concepts.hpp"
#include "config.hpp"
#include "descriptor.hpp"
#include "factory.hpp"
#include "half.hpp"
#include "offset.hpp"
#include "result.hpp"
#include "rows.hpp"
#include "scheme.hpp"
#include "split.hpp"
#include "uncompressed.hpp"
