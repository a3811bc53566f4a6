package timeline

import (
	"path"
	"strconv"
	"strings"
)

// Sources maps names of spec files, without folders, to their lines.
type Sources map[string][]string

// Add adds the text of a file.
func (s Sources) Add(file, text string) { s[path.Base(file)] = strings.Split(text, "\n") }

// line returns a position, file:line:column, followed by the text of the line if it is known.
func (s Sources) line(where string) string {
	parts := strings.Split(where, ":")
	if len(parts) < 2 {
		return where
	}
	lines := s[path.Base(parts[0])]
	number, err := strconv.Atoi(parts[1])
	if err != nil || number < 1 || number > len(lines) {
		return where
	}
	return where + "  " + strings.TrimSpace(lines[number-1])
}
