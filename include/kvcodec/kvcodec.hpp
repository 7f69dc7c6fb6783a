// kvcodec: KV-cache codecs for transformer inference. Everything but the adapters (adapt/) and the quality measures
// (quality/).
#pragma once

#include "concepts.hpp"
#include "codec.hpp"
#include "config.hpp"
#include "descriptor.hpp"
#include "factory.hpp"
#include "half.hpp"
#include "result.hpp"
#include "rows.hpp"
#include "uncompressed.hpp"
