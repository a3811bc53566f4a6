package emit

import (
	"slices"
	"strings"
)

// A choice is "condition ? one : other". other includes the rest of the text.
type choice struct{ condition, one, other string }

// choiceOf parses text that consists of one choice. ok is false for other text.
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

// breakBehind breaks an assignment of a choice: the choice starts after the "=" if it fits there in two lines, or else on
// the next line.
func (c choice) breakBehind(indent int, left string) string {
	lines := c.lines(indent, left+" = ")
	if slices.ContainsFunc(lines, func(line string) bool { return width(line) > columns }) || len(lines) > 2 {
		lines = append([]string{spaced(indent, left+" =")}, c.lines(indent+4, "")...)
	}
	return strings.Join(lines, "\n")
}

// lines breaks a choice before its colon, which comes below the question mark. A value that is a sum is also broken
// after a plus, if it is too long.
func (c choice) lines(indent int, head string) []string {
	column := indent + width(head) + width(c.condition) + 1
	blanks := strings.Repeat(" ", column+2)
	one := fillWords(spaced(indent, head+c.condition+" ? "), blanks, splitSum(c.one))
	return append(one, fillWords(spaced(column, ": "), blanks, splitSum(c.other))...)
}
