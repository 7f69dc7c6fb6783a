// Files that appear whole or not at all: written under another name in the same directory, then renamed.
#pragma once

#include "kvcodec/result.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace compare {

using kvcodec::error;
using kvcodec::Result;

/// A name beside `path` for what is not finished. Removed again, should anything fail, by the destructor.
class PartialFile {
 public:
  explicit PartialFile(const std::string& path) : path_(path) {
    // Through a link to the file itself: renaming would replace the link.
    std::error_code problem;
    if (std::filesystem::is_symlink(path_, problem)) path_ = std::filesystem::weakly_canonical(path_, problem);
    partial_ = path_;
    partial_ += ".partial-" + std::to_string(::getpid());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    if (created_) std::remove(partial_.c_str());
  }

  /// Makes the partial file, empty.
  Result<void> create() {
    std::error_code problem;
    const auto status = std::filesystem::status(path_, problem);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      return error(path_.string() + " cannot be written: it is not a regular file");
    if (std::filesystem::exists(status) && ::access(path_.c_str(), W_OK) != 0) return failure();
    std::FILE* const file = std::fopen(partial_.c_str(), "wx");
    if (file == nullptr) return failure();
    created_ = true;
    return std::fclose(file) == 0 ? Result<void>() : failure();
  }

  Result<void> write(std::string_view text) {
    std::FILE* const file = std::fopen(partial_.c_str(), "wb");
    if (file == nullptr) return failure();
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;  // where a full disk may first be noticed
    return written && closed ? Result<void>() : failure();
  }

  /// Gives the partial file its name.
  Result<void> finish() {
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) return failure();
    created_ = false;
    return {};
  }

  /// Where to write.
  std::string name() const { return partial_.string(); }

 private:
  Result<void> failure() const { return error(path_.string() + " cannot be written: " + std::strerror(errno)); }

  std::filesystem::path path_, partial_;
  bool created_ = false;
};

/// Whether a file could be written here; asked before the long work.
inline Result<void> check_writable(const std::string& path) { return PartialFile(path).create(); }

inline Result<void> write_file(const std::string& path, std::string_view text) {
  PartialFile file(path);
  if (auto made = file.create(); !made) return made;
  if (auto written = file.write(text); !written) return written;
  return file.finish();
}

}  // namespace compare
