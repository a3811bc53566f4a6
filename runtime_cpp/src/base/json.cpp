#include "base/json.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/text.hpp"

namespace hirgen {

namespace {

constexpr int kDeepest = 32;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  JsonValue whole() {
    JsonValue value = parse(0);
    skip_space();
    if (next_ != text_.size()) fail("text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw JsonError(what, next_); }

  void skip_space() {
    const size_t found = text_.find_first_not_of(" \t\r\n", next_);
    next_ = found == std::string::npos ? text_.size() : found;
  }
  bool take(char c) {
    skip_space();
    if (next_ >= text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(format("expected '%c'", c).c_str());
  }
  bool take_word(const std::string& word) {
    if (text_.compare(next_, word.size(), word) != 0) return false;
    next_ += word.size();
    return true;
  }

  JsonValue parse(int depth) {
    if (depth > kDeepest) fail("nested too deeply");
    skip_space();
    if (next_ >= text_.size()) fail("the text ends early");
    const char c = text_[next_];
    JsonValue value;
    value.at = next_;
    if (c == '{') return parse_object(depth);
    if (c == '[') return parse_array(depth);
    if (c == '"') {
      value.kind = JsonValue::Kind::kString;
      value.text = parse_string();
    } else if (take_word("true") || take_word("false")) {
      value.kind = JsonValue::Kind::kBool;
      value.boolean = c == 't';
    } else if (!take_word("null")) {
      value.kind = JsonValue::Kind::kNumber;
      value.number = parse_number_token();
    }
    return value;
  }

  JsonValue parse_object(int depth) {
    JsonValue value;
    value.kind = JsonValue::Kind::kObject;
    value.at = next_;
    expect('{');
    if (take('}')) return value;
    do {
      skip_space();
      const std::string name = parse_string();
      expect(':');
      if (!value.members.emplace(name, parse(depth + 1)).second) fail("a member twice");
    } while (take(','));
    expect('}');
    return value;
  }

  JsonValue parse_array(int depth) {
    JsonValue value;
    value.kind = JsonValue::Kind::kArray;
    value.at = next_;
    expect('[');
    if (take(']')) return value;
    do {
      value.items.push_back(parse(depth + 1));
    } while (take(','));
    expect(']');
    return value;
  }

  double parse_number_token() {
    double number = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + next_, end, number);
    if (error != std::errc() || !std::isfinite(number)) fail("no value");
    next_ = static_cast<size_t>(stop - text_.data());
    return number;
  }

  std::string parse_string() {
    expect('"');
    std::string text;
    while (next_ < text_.size() && text_[next_] != '"') {
      const char c = text_[next_++];
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      text += c == '\\' ? parse_escape() : std::string(1, c);
    }
    if (next_ >= text_.size()) fail("a string does not end");
    ++next_;
    return text;
  }

  std::string parse_escape() {
    if (next_ >= text_.size()) fail("a string does not end");
    const char c = text_[next_++];
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const size_t simple = kNames.find(c);
    if (simple != std::string_view::npos) return {kValues[simple]};
    if (c != 'u') fail("an unknown escape");
    return utf8(parse_hex());
  }

  unsigned parse_hex() {
    unsigned code = 0;
    if (text_.size() - next_ < 4) fail("a string does not end");
    const char* begin = text_.data() + next_;
    const auto [stop, error] = std::from_chars(begin, begin + 4, code, 16);
    if (error != std::errc() || stop != begin + 4) fail("an unknown escape");
    next_ += 4;
    return code;
  }

  // Encodes one UTF-16 code unit. The halves of a surrogate pair are encoded separately, in three
  // bytes each, unlike in UTF-8.
  static std::string utf8(unsigned code) {
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) {
      return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  const std::string& text_;
  size_t next_ = 0;
};

}  // namespace

JsonError::JsonError(const std::string& what, size_t at)
    : Error(Code::kEnvironment, format("JSON: %s at byte %zu", what.c_str(), at)),
      problem_(what),
      at_(at) {}

const JsonValue* JsonValue::find(const std::string& name) const {
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

JsonValue parse_json(const std::string& text) { return Parser(text).whole(); }

std::string json_quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += std::string{'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

void JsonWriter::start(const char* key) {
  if (!first_) text_ += ',';
  if (depth_ > 0) text_ += "\n" + std::string(static_cast<size_t>(depth_) * 2, ' ');
  if (key != nullptr) text_ += json_quote(key) + ": ";
  first_ = false;
}

JsonWriter& JsonWriter::open(const char* key, char bracket) {
  start(key);
  text_ += bracket;
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --depth_;
  if (!first_) text_ += "\n" + std::string(static_cast<size_t>(depth_) * 2, ' ');
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(const char* key, const std::string& text) {
  start(key);
  text_ += json_quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(const char* key, bool holds) {
  start(key);
  text_ += holds ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(const char* key, int64_t number) {
  start(key);
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(const char* key, double number) {
  if (!std::isfinite(number)) return null(key);
  start(key);
  text_ += format("%.9g", number);
  return *this;
}

JsonWriter& JsonWriter::null(const char* key) {
  start(key);
  text_ += "null";
  return *this;
}

}  // namespace hirgen
