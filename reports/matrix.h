// The matrix of the console report: kinds of fault × world sizes, the worst verdict in each cell.

#ifndef REPRISE_REPORTS_MATRIX_H_
#define REPRISE_REPORTS_MATRIX_H_

#include <string>

#include "harness/model/report.h"

namespace reprise {

// How a verdict is shown in a cell; printable ASCII, different for each verdict.
char MarkOf(Verdict verdict);

// Lines of the matrix and its legend, without colours; empty when the report has no case.
std::string MatrixText(const Report& report);

}  // namespace reprise

#endif  // REPRISE_REPORTS_MATRIX_H_
