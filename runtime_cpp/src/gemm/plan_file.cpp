#include "gemm/plan_file.hpp"

#include <algorithm>
#include <cmath>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace hirgen {

namespace {

constexpr int64_t kPlansVersion = 3;
constexpr double kMicroseconds = 1e6;

// Reads members of JSON objects. Errors contain the file's name, the line and the column.
class PlanReader {
 public:
  PlanReader(const std::string& name, const std::string& text) : name_(name), text_(text) {}

  [[noreturn]] void fail(size_t at, const std::string& what) const {
    const size_t line = 1 + static_cast<size_t>(std::count(
                                text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
    const size_t start = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    const size_t column = start == std::string::npos ? at + 1 : at - start;
    throw Error(Code::kEnvironment,
                format("%s:%zu:%zu: %s", name_.c_str(), line, column, what.c_str()));
  }

  const JsonValue& member(const JsonValue& object, const char* name, JsonValue::Kind kind,
                          const char* kind_name) const {
    const JsonValue* value = object.find(name);
    if (value == nullptr) fail(object.at, format("no member \"%s\" here", name));
    if (value->kind != kind) fail(value->at, format("\"%s\" must be %s", name, kind_name));
    return *value;
  }
  const std::string& text(const JsonValue& object, const char* name) const {
    return member(object, name, JsonValue::Kind::kString, "a string").text;
  }
  const JsonValue& object(const JsonValue& parent, const char* name) const {
    return member(parent, name, JsonValue::Kind::kObject, "an object");
  }
  double number(const JsonValue& object, const char* name) const {
    return member(object, name, JsonValue::Kind::kNumber, "a number").number;
  }
  int64_t whole(const JsonValue& object, const char* name) const {
    const double value = number(object, name);
    if (value != std::floor(value) || std::abs(value) > 0x1p53) {
      fail(object.find(name)->at, format("\"%s\" must be a whole number", name));
    }
    return static_cast<int64_t>(value);
  }

 private:
  const std::string& name_;
  const std::string& text_;
};

JsonValue parse_at(const PlanReader& reader, const std::string& text) {
  try {
    return parse_json(text);
  } catch (const JsonError& error) {
    reader.fail(error.at(), error.problem());
  }
}

AlgorithmAttributes read_attributes(const PlanReader& reader, const JsonValue& object) {
  AlgorithmAttributes attributes;
  for (const auto& [name, value] : object.members) {
    attributes.emplace_back(name, reader.whole(object, name.c_str()));
  }
  // Restore the order of the file: the map `members` is in alphabetical order.
  std::sort(attributes.begin(), attributes.end(), [&](const auto& a, const auto& b) {
    return object.find(a.first)->at < object.find(b.first)->at;
  });
  return attributes;
}

PlanChoice read_choice(const PlanReader& reader, const JsonValue& object) {
  if (object.kind != JsonValue::Kind::kObject) reader.fail(object.at, "a choice is an object");
  PlanChoice choice;
  choice.gemm = reader.text(object, "gemm");
  choice.scope = {reader.text(object, "gpu"), reader.text(object, "library"),
                  reader.whole(object, "version")};
  const auto bytes = parse_hex(reader.text(object, "algorithm"));
  if (!bytes) {
    reader.fail(object.find("algorithm")->at,
                "\"algorithm\" must be hexadecimal digits, two for each byte");
  }
  choice.bytes = *bytes;
  choice.workspace_bytes = reader.whole(object, "workspace_bytes");
  choice.attributes = read_attributes(reader, reader.object(object, "attributes"));
  const JsonValue& measured = reader.object(object, "measured");
  choice.measured = {reader.text(measured, "program"), reader.whole(measured, "ranks"),
                     reader.whole(measured, "candidates"),
                     reader.number(measured, "default_us") / kMicroseconds,
                     reader.number(measured, "us") / kMicroseconds};
  return choice;
}

void write_choice(JsonWriter& json, const PlanChoice& choice) {
  json.begin_object().value("gemm", choice.gemm);
  json.value("gpu", choice.scope.gpu).value("library", choice.scope.library);
  json.value("version", choice.scope.version).value("algorithm", hex_of(choice.bytes));
  json.value("workspace_bytes", choice.workspace_bytes);
  write_attributes(json, choice.attributes);
  const PlanMeasurement& measured = choice.measured;
  json.begin_object("measured").value("program", measured.program).value("ranks", measured.ranks);
  json.value("candidates", measured.candidates);
  json.value("default_us", measured.default_seconds * kMicroseconds);
  json.value("us", measured.seconds * kMicroseconds).end_object().end_object();
}

}  // namespace

std::vector<PlanChoice> parse_plans(const std::string& name, const std::string& text) {
  const PlanReader reader(name, text);
  const JsonValue root = parse_at(reader, text);
  if (root.kind != JsonValue::Kind::kObject) reader.fail(root.at, "the file must be an object");
  if (const int64_t version = reader.whole(root, "hirgen_plans"); version != kPlansVersion) {
    reader.fail(root.find("hirgen_plans")->at,
                format("version %ld of plan files; this program reads version %ld",
                       static_cast<long>(version), static_cast<long>(kPlansVersion)));
  }
  std::vector<PlanChoice> choices;
  for (const JsonValue& item :
       reader.member(root, "choices", JsonValue::Kind::kArray, "an array").items) {
    PlanChoice choice = read_choice(reader, item);
    const auto rival = [&](const PlanChoice& other) { return other.rivals(choice); };
    if (std::any_of(choices.begin(), choices.end(), rival)) {
      reader.fail(item.at,
                  "a second choice for " + choice.gemm + " on " + scope_text(choice.scope));
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<PlanChoice> read_plans(const std::string& path) {
  const MappedFile file(path);
  return parse_plans(path, std::string(file.data(), file.size()));
}

std::string plans_text(const std::vector<PlanChoice>& choices) {
  JsonWriter json;
  json.begin_object().value("hirgen_plans", kPlansVersion).begin_array("choices");
  for (const PlanChoice& choice : choices) write_choice(json, choice);
  return json.end_array().end_object().text() + "\n";
}

void merge_plans(std::vector<PlanChoice>* choices, const std::vector<PlanChoice>& fresh) {
  for (const PlanChoice& choice : fresh) {
    const auto rival = [&](const PlanChoice& other) { return other.rivals(choice); };
    const auto found = std::find_if(choices->begin(), choices->end(), rival);
    if (found == choices->end()) {
      choices->push_back(choice);
    } else {
      *found = choice;
      choices->erase(std::remove_if(found + 1, choices->end(), rival), choices->end());
    }
  }
}

}  // namespace hirgen
