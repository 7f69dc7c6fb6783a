// A value, or a message that says why there is none. Exceptions are the application's choice, not ours; row functions
// never come here.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace kvcodec {

struct Error {
  std::string message;
};
inline Error error(std::string message) { return {std::move(message)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                      // NOLINT: implicit, as in `return value;`
  Result(Error error) : message_(std::move(error.message)) {}        // NOLINT: implicit, as in `return error("…");`

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const T& operator*() const noexcept { return *value_; }
  T& operator*() noexcept { return *value_; }
  const T* operator->() const noexcept { return &*value_; }
  const std::string& message() const noexcept { return message_; }

 private:
  std::optional<T> value_;
  std::string message_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : ok_(false), message_(std::move(error.message)) {}  // NOLINT: implicit

  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  const std::string& message() const noexcept { return message_; }

 private:
  bool ok_ = true;
  std::string message_;
};

}  // namespace kvcodec
