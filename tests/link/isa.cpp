// Prints which code the headers chose; fails when that does not contain the first argument.
#include <kvcodec/kvcodec.hpp>

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  std::printf("%.*s\n", static_cast<int>(kvcodec::isa_name.size()), kvcodec::isa_name.data());
  if (argc < 2 || kvcodec::isa_name.find(argv[1]) != std::string_view::npos) return 0;
  std::printf("expected: %s\n", argv[1]);
  return 1;
}
