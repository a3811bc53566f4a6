// Writes and parses JSON, such as reports, plan files and headers of safetensors files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hirgen/error.hpp"

namespace hirgen {

/// Builds one JSON text, indented by two spaces per level. Members and elements appear in the order
/// of the calls, and the writer adds commas. Pass a null key for the root and for elements of
/// arrays.
class JsonWriter {
 public:
  JsonWriter& begin_object(const char* key = nullptr) { return open(key, '{'); }
  JsonWriter& begin_array(const char* key = nullptr) { return open(key, '['); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& value(const char* key, const std::string& text);
  JsonWriter& value(const char* key, const char* text) { return value(key, std::string(text)); }
  JsonWriter& value(const char* key, bool holds);
  JsonWriter& value(const char* key, int64_t number);
  JsonWriter& value(const char* key, double number);  ///< writes null if not finite
  JsonWriter& null(const char* key);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(const char* key, char bracket);
  JsonWriter& close(char bracket);
  void start(const char* key);

  std::string text_;
  int depth_ = 0;
  bool first_ = true;
};

/// Returns `text` as a JSON string with its quotes. Bytes from 0x80 on are copied unchanged.
std::string json_quote(const std::string& text);

/// A value of a JSON text.
struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue> members;
  size_t at = 0;  ///< byte offset of the value's first character in the text

  /// Returns the member `name`; null if there is none or this is no object.
  const JsonValue* find(const std::string& name) const;
};

/// The error for an invalid text: an Error(kEnvironment) whose message ends with the byte offset.
class JsonError : public Error {
 public:
  JsonError(const std::string& what, size_t at);
  const std::string& problem() const { return problem_; }  ///< message without offset
  size_t at() const { return at_; }

 private:
  std::string problem_;
  size_t at_;
};

/// Parses a text of one value; throws JsonError. Duplicate members, and values more than 32 levels
/// below the root, are errors.
JsonValue parse_json(const std::string& text);

}  // namespace hirgen
