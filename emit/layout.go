package emit

import (
	"strings"
	"unicode/utf8"
)

// columns is the column limit of emitted code.
const columns = 100

// layOut gives C and C++ text its final layout, the one that clang-format (Google
// style, 100 columns) would give it. Templates print short lines as they should be;
// what depends on the length of names is done here: long calls are broken at their
// commas, long comments are filled, comments behind code are aligned.
func layOut(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "" || opensBlock(lines[len(lines)-1])) {
			continue
		}
		lines = append(lines, fit(line)...)
	}
	return strings.Join(alignComments(lines), "\n")
}

// opensBlock reports whether a line ends with the brace of a body; Google style has
// no empty line behind one, except in a namespace.
func opensBlock(line string) bool {
	return strings.HasSuffix(line, "{") && !strings.HasPrefix(line, "namespace") && !strings.HasPrefix(line, "extern")
}

// fit breaks one line where it is too long.
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
		above := fit(strings.Repeat(" ", indent) + comment)
		return append(above, fit(code)...)
	}
	return strings.Split(breakCode(indent, text), "\n")
}

// fillComment wraps a comment at the column limit. Text that is indented behind the
// slashes continues at the same place.
func fillComment(indent int, text string) []string {
	body := strings.TrimLeft(text, "/")
	slashes := text[:len(text)-len(body)]
	trimmed := strings.TrimLeft(body, " ")
	prefix := strings.Repeat(" ", indent) + slashes + body[:len(body)-len(trimmed)]
	return fillWords(prefix, prefix, strings.Fields(trimmed))
}

// fillBlockComment does the same for a comment of C, " * " before each further line.
func fillBlockComment(indent int, text string) []string {
	blanks := strings.Repeat(" ", indent)
	words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"))
	if len(words) > 0 {
		words[len(words)-1] += " */"
	}
	return fillWords(blanks+"/* ", blanks+" * ", words)
}

// fillWords puts words behind the first prefix, and on further lines behind the next.
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

// breakCode breaks a statement at the commas of its outermost long call, then, where
// an argument is too long for a line of its own, inside that argument.
func breakCode(indent int, text string) string {
	if indent+width(text) <= columns {
		return spaced(indent, text)
	}
	if left, right, ok := strings.Cut(text, " = "); ok && !strings.Contains(left, "(") {
		if indent+4+width(right) <= columns {
			return spaced(indent, left+" =") + "\n" + spaced(indent+4, right)
		}
		if sum := splitSum(right); len(sum) > 1 {
			column := strings.Repeat(" ", indent+width(left)+len(" = "))
			lines := fillWords(spaced(indent, left+" = "), column, sum)
			return strings.Join(lines, "\n")
		}
	}
	opening := outermostBracket(text)
	if opening < 0 {
		return spaced(indent, text)
	}
	closing := matching(text, opening)
	head, tail := text[:opening+1], text[closing:]
	args := splitArgs(text[opening+1 : closing])
	return fillArgs(indent, head, args, tail)
}

// spaced is one line at an indentation.
func spaced(indent int, text string) string { return strings.Repeat(" ", indent) + text }

// fillArgs puts arguments behind head, as many on a line as fit: aligned with the first
// one, or on lines of their own where that takes fewer lines or there is no room.
func fillArgs(indent int, head string, args []string, tail string) string {
	column := indent + width(head)
	if column <= indent+4 {
		return alignArgs(indent, head, args, tail)
	}
	below := func() string { return spaced(indent, head) + "\n" + alignArgs(indent+4, "", args, tail) }
	if !argsFit(column, args, tail) {
		return below()
	}
	aligned := alignArgs(indent, head, args, tail)
	if !breaksEarlier(column, args) {
		return aligned
	}
	if other := below(); strings.Count(aligned, "\n") >= strings.Count(other, "\n") {
		return other
	}
	return aligned
}

// alignArgs puts arguments behind head, aligned with the first one.
func alignArgs(indent int, head string, args []string, tail string) string {
	column := indent + width(head)
	lines := []string{spaced(indent, head)}
	used, first, broken := column, true, false
	for i, arg := range args {
		piece := arg + ","
		if i == len(args)-1 {
			piece = arg + tail
		}
		switch {
		case first:
		case !broken && used+1+width(piece) <= columns:
			lines[len(lines)-1] += " "
			used++
		default:
			lines = append(lines, strings.Repeat(" ", column))
			used = column
		}
		first, broken = false, used+width(piece) > columns
		if broken {
			piece = strings.TrimLeft(breakCode(used, piece), " ")
		}
		lines[len(lines)-1] += piece
		used = width(lastLine(lines[len(lines)-1]))
	}
	return strings.Join(lines, "\n")
}

// argsFit reports whether every argument fits on a line that starts at column, or can
// be broken itself.
func argsFit(column int, args []string, tail string) bool {
	for i, arg := range args {
		length := width(arg) + 1
		if i == len(args)-1 {
			length = width(arg) + width(tail)
		}
		if column+length > columns && outermostBracket(arg) < 0 {
			return false
		}
	}
	return true
}

// breaksEarlier reports whether an argument before the last one does not fit on a line.
func breaksEarlier(column int, args []string) bool {
	for _, arg := range args[:len(args)-1] {
		if column+width(arg)+1 > columns {
			return true
		}
	}
	return false
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

func width(text string) int { return utf8.RuneCountInString(text) }

// outermostBracket finds the first "(" or "{" whose arguments are worth breaking, or -1.
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

// matching finds the bracket that closes the one at i; -1 when there is none.
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

// splitSum splits at the plus signs that are in no bracket and no string; each part but the
// last ends with one.
func splitSum(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i = skip(text, i) {
		switch {
		case strings.IndexByte("({[", text[i]) >= 0:
			depth++
		case strings.IndexByte(")}]", text[i]) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], " + "):
			parts = append(parts, text[start:i+len(" +")])
			start = i + len(" + ")
		}
	}
	return append(parts, text[start:])
}

// splitArgs splits at the commas that are in no bracket and no string.
func splitArgs(text string) []string {
	var args []string
	depth, start := 0, 0
	for i := 0; i < len(text); i = skip(text, i) {
		switch text[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	return append(args, strings.TrimSpace(text[start:]))
}

// skip steps over one character, or over a whole string literal or comment of C.
func skip(text string, i int) int {
	if strings.HasPrefix(text[i:], "/*") {
		return min(len(text), i+4+strings.Index(text[i+2:]+"*/", "*/"))
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

// splitComment splits a line into code and the comment behind it.
func splitComment(line string) (code, comment string) {
	for i := 0; i < len(line); i = skip(line, i) {
		if strings.HasPrefix(line[i:], "//") {
			return strings.TrimRight(line[:i], " "), line[i:]
		}
	}
	return line, ""
}

// alignComments lines up the comments behind consecutive lines of code.
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

// alignGroup aligns one run of comments. A comment that then does not fit goes above
// its line.
func alignGroup(group []string) []string {
	column := 0
	for _, line := range group {
		code, _ := splitComment(line)
		column = max(column, width(code)+2)
	}
	for i, line := range group {
		code, comment := splitComment(line)
		if column+width(comment) <= columns {
			continue
		}
		indent := strings.Repeat(" ", len(code)-len(strings.TrimLeft(code, " ")))
		out := append(alignComments(group[:i]), indent+comment, code)
		return append(out, alignComments(group[i+1:])...)
	}
	out := make([]string, len(group))
	for i, line := range group {
		code, comment := splitComment(line)
		out[i] = code + strings.Repeat(" ", column-width(code)) + comment
	}
	return out
}
