package timeline

import (
	"path"
	"strconv"
	"strings"
)

// Sources are the lines of specs by the name of their file, without folders.
type Sources map[string][]string

// Add takes the text of a file.
func (s Sources) Add(file, text string) { s[path.Base(file)] = strings.Split(text, "\n") }

// line is a position, file:line:column, with what stands there, if the file is known.
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
