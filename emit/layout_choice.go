package emit

import (
	"slices"
	"strings"
)

// choice is "condition ? one : other", with the text behind it.
type choice struct{ condition, one, other string }

// choiceOf takes text apart that is a choice as a whole.
func choiceOf(text string) (c choice, ok bool) {
	parts := splitAt(text, " ? ")
	if len(parts) != 2 {
		return c, false
	}
	values := splitAt(parts[1], " : ")
	if len(values) != 2 {
		return c, false
	}
	return choice{parts[0], values[0], values[1]}, true
}

// breakBehind breaks a choice behind the sign of an assignment: on its line where there is room, or else on lines of
// its own.
func (c choice) breakBehind(indent int, left string) string {
	lines := c.lines(indent, left+" = ")
	if slices.ContainsFunc(lines, func(line string) bool { return width(line) > columns }) || len(lines) > 2 {
		lines = append([]string{spaced(indent, left+" =")}, c.lines(indent+4, "")...)
	}
	return strings.Join(lines, "\n")
}

// lines breaks a choice behind head before its colon, which stands below the question mark; a value that is a sum
// and too long, behind a plus.
func (c choice) lines(indent int, head string) []string {
	column := indent + width(head) + width(c.condition) + 1
	blanks := strings.Repeat(" ", column+2)
	one := fillWords(spaced(indent, head+c.condition+" ? "), blanks, splitSum(c.one))
	return append(one, fillWords(spaced(column, ": "), blanks, splitSum(c.other))...)
}
