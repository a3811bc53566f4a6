package emit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// docstring makes text safe in a string of Python between three quotes. The result is one line.
func docstring(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(commentWord(text))
}

// cstr prints text as a C++ string literal. It prints other bytes than printable ASCII as octal escapes, which,
// unlike \x, end after three digits.
func cstr(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '?' && i > 0 && text[i-1] == '?':
			b.WriteString(`\?`) // no trigraphs
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// commentWord makes text safe in a comment of C++ or CMake and in Markdown. The result is one line. It has no control
// characters, and no characters that change the direction of text. It cannot end the comment, continue it on the next
// line or contain a trigraph.
func commentWord(text string) string {
	var b strings.Builder
	space := false
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) || unicode.IsSpace(r) ||
			unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	safe := b.String()
	for _, pair := range [][2]string{{"*/", "* /"}, {"/*", "/ *"}, {"??", "? ?"}, {"`", "'"}, {"<", "("}, {">", ")"}} {
		safe = strings.ReplaceAll(safe, pair[0], pair[1])
	}
	safe = strings.ReplaceAll(safe, "??", "? ?")
	line := strings.TrimRight(safe, `\`)
	return line + strings.Repeat("/", len(safe)-len(line))
}

// comment prints lines as // comments and keeps their indentation.
func comment(lines ...string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		out[i] = strings.TrimRight("// "+indent+commentWord(line), " ")
	}
	return strings.Join(out, "\n")
}

// indentBy puts n spaces before every line that is not empty.
func indentBy(n int, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", n) + line
		}
	}
	return strings.Join(lines, "\n")
}

// cmakeQuote prints text as a CMake bracket argument, in which CMake expands nothing.
func cmakeQuote(text string) string {
	fence := ""
	for strings.Contains(text, "]"+fence+"]") || strings.HasSuffix(text, "]"+fence) {
		fence += "="
	}
	newline := ""
	if strings.HasPrefix(text, "\n") {
		newline = "\n" // CMake drops a newline right after the bracket
	}
	return "[" + fence + "[" + newline + text + "]" + fence + "]"
}

// isPlain reports whether a character has no special meaning in a shell, in printf and in a comment.
func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.=,+:@/", r)
}

// shellWord quotes a word for a POSIX shell if necessary.
func shellWord(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !isPlain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// octal prints a word for the format of printf, with octal escapes where necessary.
func octal(word string) string {
	var b strings.Builder
	for i := range len(word) {
		if c := word[i]; isPlain(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}
