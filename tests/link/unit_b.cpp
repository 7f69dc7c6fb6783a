#include "run.hpp"

Outcome unit_b() { return run(); }
