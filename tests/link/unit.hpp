// What both translation units of the link tests do: the bytes, scores and sums of a few codecs on fixed input.
//
// The text of run() is compiled in both, in an unnamed namespace, so that only what kvcodec defines can be shared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

struct Outcome {
  std::string_view isa;
  std::vector<std::byte> bytes;  // of every codec, one after the other
  std::vector<float> scores;
  std::vector<float> sums;
  std::string refusal;           // what with_codec says to an unknown name
};

Outcome unit_a();
Outcome unit_b();
