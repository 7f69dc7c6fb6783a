// The head sizes that a test runs through: all of them, or those of KVCODEC_TEST_DIMS, with which build variants keep
// their compile time down.
#pragma once

#include <kvcodec/factory.hpp>

namespace kvcodec_test {

#if defined(KVCODEC_TEST_DIMS)
using TestDims = kvcodec::Dims<KVCODEC_TEST_DIMS>;
#else
using TestDims = kvcodec::AllDims;
#endif

}  // namespace kvcodec_test
