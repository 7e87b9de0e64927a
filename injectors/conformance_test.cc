// What every injector must fulfil; runs over injectors.inc, so that a new one is tested at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "injectors/injector.h"

namespace reprise {
namespace {

// A right value of a parameter.
std::string Example(const ParamSpec& spec) {
  if (!spec.fallback.empty()) {
    return spec.fallback;
  }
  if (spec.domain == ParamDomain::kOperation) {
    return "0/0/0";
  }
  switch (spec.type) {
    case ParamType::kInteger:
      return std::to_string(spec.min);
    case ParamType::kEnum:
      return spec.choices.front() + (spec.choices.front().ends_with(':') ? "0" : "");
    case ParamType::kText:
      break;
  }
  return "text";
}

Fault ExampleFault(const InjectorInfo& info) {
  Fault fault{.kind = info.name};
  for (const ParamSpec& spec : info.params) {
    fault.params[spec.name] = Example(spec);
  }
  return fault;
}

class InjectorConformanceTest : public testing::TestWithParam<InjectorInfo> {};

TEST_P(InjectorConformanceTest, DescribesItselfAndItsParameters) {
  const InjectorInfo& info = GetParam();
  EXPECT_EQ(FindInjector(info.name)->help, info.help);
  EXPECT_FALSE(info.help.empty());
  EXPECT_EQ(info.name.starts_with("damage."), info.stage == InjectorStage::kFolder);
  std::set<std::string> names;
  for (const ParamSpec& spec : info.params) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " is described twice";
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_EQ(spec.type == reprise::ParamType::kEnum, !spec.choices.empty()) << spec.name;
    EXPECT_NE(spec.name, "attempt") << "reserved by the plan";
    EXPECT_NE(spec.name, "kind") << "reserved by the plan";
    if (!spec.fallback.empty()) {
      EXPECT_EQ(*CanonicalValue(spec, spec.fallback), spec.fallback) << spec.name;
    }
  }
}

TEST_P(InjectorConformanceTest, IsMadeFromAnyDescribedValues) {
  const InjectorInfo& info = GetParam();
  const auto filled = ValidateFault(ExampleFault(info));
  ASSERT_TRUE(filled) << filled.error().ToString();
  EXPECT_EQ(filled->params.size(), info.params.size());
  EXPECT_EQ(*ValidateFault(*filled), *filled);
  const auto injector = MakeInjector(*filled);
  ASSERT_TRUE(injector);
  EXPECT_TRUE((*injector)->Firings().empty());
}

TEST_P(InjectorConformanceTest, RefusesUnknownParametersAndWrongValuesByName) {
  const InjectorInfo& info = GetParam();
  Fault fault = ExampleFault(info);
  fault.params["no-such"] = "1";
  EXPECT_EQ(ValidateFault(fault).error().where, info.name + ": no-such");
  for (const ParamSpec& spec : info.params) {
    fault = ExampleFault(info);
    fault.params[spec.name] = "";
    const auto refused = ValidateFault(fault);
    ASSERT_FALSE(refused) << spec.name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(refused.error().where, info.name + ": " + spec.name);
    EXPECT_FALSE(MakeInjector(fault)) << spec.name;
  }
}

TEST_P(InjectorConformanceTest, DoesNothingWhereNothingHappens) {
  const auto injector = *MakeInjector(ExampleFault(GetParam()));
  const FolderContext empty{.folder = "/nonexistent/checkpoints"};
  EXPECT_TRUE(injector->OnFolder(empty));
  EXPECT_EQ(injector->OnRecord(9, EndRecord{}).kind, Action::Kind::kContinue);
  Operation operation;
  operation.address = {9, 9, 9};
  EXPECT_EQ(injector->OnOperation(operation).kind, Action::Kind::kContinue);
  EXPECT_TRUE(injector->Firings().empty());
  EXPECT_TRUE(injector->DamagedFiles().empty());
  EXPECT_EQ(injector->WhyNot().empty(), GetParam().stage == InjectorStage::kLive);
}

std::string TestName(const testing::TestParamInfo<InjectorInfo>& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, InjectorConformanceTest, testing::ValuesIn(AllInjectors()), TestName);

TEST(RegistryTest, NamesAreUniqueAndAnUnknownOneIsCorrected) {
  std::set<std::string> names;
  for (const InjectorInfo& info : AllInjectors()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(FindInjector("kill.stepp"), nullptr);
  const auto refused = ValidateFault({.kind = "kill.stepp"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("did you mean \"kill.step\"?"), std::string::npos);
}

TEST(RegistryTest, ValuesHaveOneSpelling) {
  EXPECT_EQ(ValidateFault({.kind = "kill.step", .params = {{"step", "007"}}})->params.at("step"),
            "7");
}

}  // namespace
}  // namespace reprise
