package emit

import (
	"regexp"
	"strings"
)

// outermostBracket returns the index of the first "(" or "{" with a non-empty list of arguments, or -1.
func outermostBracket(text string) int {
	for i := 0; i < len(text); i = skip(text, i) {
		if text[i] == '(' || text[i] == '{' {
			if end := matching(text, i); end > i+1 {
				return i
			}
		}
	}
	return -1
}

// matching returns the index of the bracket that closes the bracket at i, or -1 if there is none.
func matching(text string, i int) int {
	depth := 0
	for ; i < len(text); i = skip(text, i) {
		switch text[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitSum splits text at the plus signs outside brackets and strings. Each part except the last ends with a plus.
func splitSum(text string) []string {
	parts := splitAt(text, " + ")
	for i := range parts[:len(parts)-1] {
		parts[i] += " +"
	}
	return parts
}

// splitArgs splits text at the commas outside brackets and strings.
func splitArgs(text string) []string {
	args := splitAt(text, ",")
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	return args
}

// splitAt splits text at the separators outside brackets and strings.
func splitAt(text, separator string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i = skip(text, i) {
		switch {
		case strings.IndexByte("({[", text[i]) >= 0:
			depth++
		case strings.IndexByte(")}]", text[i]) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], separator):
			parts = append(parts, text[start:i])
			start = i + len(separator)
		}
	}
	return append(parts, text[start:])
}

// templateArgs matches the last character of a name and a list of simple template arguments after it.
var templateArgs = regexp.MustCompile(`^\w<[\w:, ]+>`)

// skip returns the index after the character at i, or after the string literal, C comment or template argument
// list there.
func skip(text string, i int) int {
	if strings.HasPrefix(text[i:], "/*") {
		return min(len(text), i+4+strings.Index(text[i+2:]+"*/", "*/"))
	}
	if strings.HasPrefix(text[i+1:], "<") {
		if args := templateArgs.FindString(text[i:]); args != "" {
			return i + len(args)
		}
	}
	if text[i] != '"' {
		return i + 1
	}
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// splitComment splits a line into its code and the comment after the code.
func splitComment(line string) (code, comment string) {
	for i := 0; i < len(line); i = skip(line, i) {
		if strings.HasPrefix(line[i:], "//") {
			return strings.TrimRight(line[:i], " "), line[i:]
		}
	}
	return line, ""
}
