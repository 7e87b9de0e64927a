// Operating errors as values: Result<T>, Status, Error.
//
// Three kinds of trouble are never mixed: what the machine or the user's input does wrong is an
// Error (here), what the target does wrong is a Verdict (harness/model/outcome.h), and a bug of
// ours ends in REPRISE_CHECK (harness/base/check.h).

#ifndef REPRISE_HARNESS_BASE_RESULT_H_
#define REPRISE_HARNESS_BASE_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace reprise {

enum class ErrorCode {
  kUsage,         // the command line is wrong; exit status 2
  kInvalidInput,  // a scenario, plug-in parameter or other text of the user is wrong; exit status 2
  kCorrupt,       // bytes that we read are torn, damaged or not of the expected format
  kNotFound,      // a file, a checkpoint, a name does not exist
  kUnsupported,   // understood, but not possible on this machine or with this target
  kSystem,        // a system call failed
  kDeadline,      // a bounded wait ended
};

// `message` says what was expected, what was seen and what to do; `where` is a file, with line or
// byte offset, or the path of a field.
struct Error {
  ErrorCode code;
  std::string message;
  std::string where = {};

  // "where: message", or the message alone.
  [[nodiscard]] std::string ToString() const {
    return where.empty() ? message : where + ": " + message;
  }
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string where = {}) {
  return tl::make_unexpected(Error{code, std::move(message), std::move(where)});
}

// kSystem error of a failed call, with the text of `error_number` (an errno value).
tl::unexpected<Error> FailErrno(int error_number, const std::string& what, std::string where = {});

}  // namespace reprise

#define REPRISE_CONCAT_INNER(a, b) a##b
#define REPRISE_CONCAT(a, b) REPRISE_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Status or Result) from the current function.
#define REPRISE_RETURN_IF_ERROR(expr)                                \
  do {                                                               \
    if (auto reprise_status = (expr); !reprise_status) {             \
      return tl::make_unexpected(std::move(reprise_status).error()); \
    }                                                                \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
// REPRISE_ASSIGN_OR_RETURN(auto value, Compute()): value, or the error is returned.
#define REPRISE_ASSIGN_OR_RETURN(lhs, expr) \
  REPRISE_ASSIGN_OR_RETURN_IMPL(REPRISE_CONCAT(reprise_result_, __LINE__), lhs, expr)
#define REPRISE_ASSIGN_OR_RETURN_IMPL(result, lhs, expr)   \
  auto result = (expr);                                    \
  if (!result) {                                           \
    return tl::make_unexpected(std::move(result).error()); \
  }                                                        \
  lhs = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)

#endif  // REPRISE_HARNESS_BASE_RESULT_H_
