#include "run.hpp"

Outcome unit_a() { return run(); }
