// The list of report writers, expanded from writers.inc.

#include "reports/report_writer.h"

namespace reprise {

#define REPRISE_WRITER(name) WriterInfo name##Info();
#include "reports/writers.inc"
#undef REPRISE_WRITER

const std::vector<WriterInfo>& AllWriters() {
  static const std::vector<WriterInfo> all = {
#define REPRISE_WRITER(name) name##Info(),
#include "reports/writers.inc"
#undef REPRISE_WRITER
  };
  return all;
}

const WriterInfo* FindWriter(std::string_view name) {
  for (const WriterInfo& info : AllWriters()) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

}  // namespace reprise
