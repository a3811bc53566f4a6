package emit

import (
	"strings"
	"unicode/utf8"
)

// columns is the column limit of emitted code.
const columns = 110

// layOut gives C and C++ text its final layout, as clang-format does (Google style, 110 columns), except for
// initialisers with field names. Templates print short lines in their final form. layOut does the rest, which depends
// on the length of names: it breaks long calls at their commas, fills long comments, and aligns comments after code.
func layOut(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, layLine(lines, line)...)
	}
	return strings.Join(alignComments(lines), "\n")
}

// layLine lays out one line that follows lines, the text so far. It drops a redundant empty line.
func layLine(lines []string, line string) []string {
	line = strings.TrimRight(line, " ")
	if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "" || opensBlock(lines[len(lines)-1])) {
		return nil
	}
	return fit(line)
}

// opensBlock reports whether a line ends with an opening brace that is not of a namespace or an extern block. Google style
// has no empty line after such a brace.
func opensBlock(line string) bool {
	return strings.HasSuffix(line, "{") && !strings.HasPrefix(line, "namespace") && !strings.HasPrefix(line, "extern")
}

// fit breaks a line that is longer than the column limit.
func fit(line string) []string {
	if width(line) <= columns {
		return []string{line}
	}
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if strings.HasPrefix(text, "//") {
		return fillComment(indent, text)
	}
	if strings.HasPrefix(text, "/*") && strings.HasSuffix(text, "*/") {
		return fillBlockComment(indent, text)
	}
	code, comment := splitComment(line)
	if comment != "" {
		return commented(indent, fit(code), comment)
	}
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "{.") {
		return fillFields(indent, text)
	}
	return strings.Split(breakCode(indent, text), "\n")
}

// commented puts the comment of a statement after its last line. If the statement has only one line, or if the
// comment does not fit there, the comment goes above the statement.
func commented(indent int, code []string, comment string) []string {
	last := len(code) - 1
	if last > 0 && width(code[last])+2+width(comment) <= columns {
		code[last] += "  " + comment
		return code
	}
	return append(fit(strings.Repeat(" ", indent)+comment), code...)
}

// fillFields fills lines with the fields of an initialiser, "{.a = 1, .b = 2}," or a part of it. clang-format would
// give each field a line; in a table, this layout takes fewer lines.
func fillFields(indent int, text string) []string {
	fields := splitArgs(strings.TrimPrefix(text, "{"))
	if strings.HasPrefix(text, "{") {
		fields = splitArgs(text[1:matching(text, 0)])
		fields[0] = "{" + fields[0]
		fields[len(fields)-1] += text[matching(text, 0):]
	}
	inner := indent + strings.Count(text[:1], "{")
	var lines []string
	for i, field := range fields {
		if i < len(fields)-1 {
			field += ","
		}
		last := len(lines) - 1
		switch {
		case field == "":
		case last >= 0 && width(lines[last])+1+width(field) <= columns:
			lines[last] += " " + field
		case i == 0:
			lines = append(lines, strings.Split(breakCode(indent, field), "\n")...)
		default:
			lines = append(lines, strings.Split(breakCode(inner, field), "\n")...)
		}
	}
	return lines
}

// fillComment wraps a comment at the column limit. The new lines keep the indentation of the text after the slashes.
func fillComment(indent int, text string) []string {
	body := strings.TrimLeft(text, "/")
	slashes := text[:len(text)-len(body)]
	trimmed := strings.TrimLeft(body, " ")
	prefix := strings.Repeat(" ", indent) + slashes + body[:len(body)-len(trimmed)]
	return fillWords(prefix, prefix, strings.Fields(trimmed))
}

// fillBlockComment wraps a /* comment */ in the same way, with " * " before each line after the first.
func fillBlockComment(indent int, text string) []string {
	blanks := strings.Repeat(" ", indent)
	words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"))
	if len(words) > 0 {
		words[len(words)-1] += " */"
	}
	return fillWords(blanks+"/* ", blanks+" * ", words)
}

// fillWords fills lines with words. The first line begins with the prefix first, the others with next.
func fillWords(first, next string, words []string) []string {
	var lines []string
	current, fresh := first, true
	for _, word := range words {
		switch {
		case fresh:
			current += word
		case width(current)+1+width(word) > columns:
			lines = append(lines, current)
			current = next + word
		default:
			current += " " + word
		}
		fresh = false
	}
	return append(lines, current)
}

func width(text string) int { return utf8.RuneCountInString(text) }

// alignComments aligns the comments that follow code on consecutive lines.
func alignComments(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && trailing(lines[end]) {
			end++
		}
		if end == i {
			out = append(out, lines[i])
			i++
			continue
		}
		out = append(out, alignGroup(lines[i:end])...)
		i = end
	}
	return out
}

func trailing(line string) bool {
	if !strings.Contains(line, "  //") {
		return false
	}
	code, comment := splitComment(line)
	return strings.TrimSpace(code) != "" && comment != ""
}

// alignGroup aligns the comments of consecutive lines. If a comment does not fit at the common column, a new group
// begins at its line, or at the next line if it is the first.
func alignGroup(group []string) []string {
	column := 0
	for _, line := range group {
		code, _ := splitComment(line)
		column = max(column, width(code)+2)
	}
	out := make([]string, len(group))
	for i, line := range group {
		code, comment := splitComment(line)
		if column+width(comment) > columns {
			next := max(i, 1)
			return append(alignGroup(group[:next]), alignGroup(group[next:])...)
		}
		out[i] = code + strings.Repeat(" ", column-width(code)) + comment
	}
	return out
}
