// Package textdiff compares texts line by line, and prints unified diffs, which the program patch reads.
package textdiff

import (
	"fmt"
	"slices"
	"strings"
)

const (
	context = 3    // lines shown around a change
	most    = 4000 // most different lines of a text to compare; if there are more, all are deleted and inserted
)

// An Edit is a line that is kept (' '), deleted ('-') or inserted ('+'). Line ends in its line break, unless it is
// the last line of a text that ends without one.
type Edit struct {
	Kind byte
	Line string
}

// Unified returns a unified diff of two texts, whose header has the name of the file. It is empty if the texts are equal.
func Unified(name, before, after string) string {
	if before == after {
		return ""
	}
	edits := compare(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s, formatted\n", name, name)
	for from := 0; from < len(edits); {
		to, changed := hunk(edits, from)
		if !changed {
			break
		}
		from = printHunk(&b, edits, to)
	}
	return b.String()
}

func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Edits returns the edits from one text to another, line by line.
func Edits(before, after string) []Edit { return compare(lines(before), lines(after)) }

// hunk finds the next change at or after from. changed is false if there is none.
func hunk(edits []Edit, from int) (at int, changed bool) {
	for at = from; at < len(edits); at++ {
		if edits[at].Kind != ' ' {
			return at, true
		}
	}
	return at, false
}

// printHunk prints the change at first and later changes close to it. It returns the index after the last printed line.
func printHunk(b *strings.Builder, edits []Edit, first int) int {
	last := first
	for at := first; at < len(edits) && at <= last+2*context; at++ {
		if edits[at].Kind != ' ' {
			last = at
		}
	}
	begin, end := max(first-context, 0), min(last+context+1, len(edits))
	oldLine, newLine := 1+count(edits[:begin], '-'), 1+count(edits[:begin], '+')
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldLine, count(edits[begin:end], '-'), newLine, count(edits[begin:end], '+'))
	for _, e := range edits[begin:end] {
		b.WriteByte(e.Kind)
		b.WriteString(e.Line)
		if !strings.HasSuffix(e.Line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return end
}

// count returns the number of lines on one side: '-' before or '+' after the edits.
func count(edits []Edit, side byte) int {
	n := 0
	for _, e := range edits {
		if e.Kind == ' ' || e.Kind == side {
			n++
		}
	}
	return n
}

// Common counts the lines with which both of two lists begin, and the lines after these with which both end.
func Common(a, b []string) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

// compare returns the edits from a to b. It keeps as many lines as possible, unless a or b has more than most lines
// between the common beginning and the common end.
func compare(a, b []string) []Edit {
	begin, end := Common(a, b)
	edits := all(nil, ' ', a[:begin])
	edits = middle(edits, a[begin:len(a)-end], b[begin:len(b)-end])
	return all(edits, ' ', a[len(a)-end:])
}

func all(edits []Edit, kind byte, list []string) []Edit {
	for _, line := range list {
		edits = append(edits, Edit{kind, line})
	}
	return edits
}

// middle appends the edits from a to b, which have no common beginning or end. kept[i][j] is the most lines that the edits
// from a[i:] to b[j:] can keep.
func middle(edits []Edit, a, b []string) []Edit {
	if len(a) > most || len(b) > most {
		return all(all(edits, '-', a), '+', b)
	}
	kept := make([][]int32, len(a)+1)
	kept[len(a)] = make([]int32, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		kept[i] = make([]int32, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if kept[i][j] = max(kept[i+1][j], kept[i][j+1]); a[i] == b[j] {
				kept[i][j] = kept[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			edits, i, j = append(edits, Edit{' ', a[i]}), i+1, j+1
		case kept[i+1][j] >= kept[i][j+1]:
			edits, i = append(edits, Edit{'-', a[i]}), i+1
		default:
			edits, j = append(edits, Edit{'+', b[j]}), j+1
		}
	}
	return all(all(edits, '-', a[i:]), '+', b[j:])
}
