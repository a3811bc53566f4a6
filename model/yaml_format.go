package model

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// Format returns the text of a spec in the standard form. Each level is indented by two spaces. Values of tensors are
// in one column, and so are the comments after the code of one block. Operations and flow collections have uniform spaces,
// and several blank lines become one. Values of several lines keep their form. Lines keep their order, and comments their
// text. Lines end in "\n", and a byte order mark is removed.
//
// If decode refuses the text, the error is a *diag.Errors. Format does not look for other errors in the spec. It also
// returns an error if the result would not mean the same.
func Format(filename string, src []byte) ([]byte, error) {
	src = bytes.ReplaceAll(bytes.TrimPrefix(src, byteOrderMark), []byte("\r\n"), []byte("\n"))
	base := filepath.Base(filename)
	var list diag.List
	root := decode(base, src, &list)
	if root == nil {
		return nil, renamed(&list, base, filename)
	}
	if root.Kind == yaml.ScalarNode {
		return src, nil // not a map, so not a spec
	}
	f := &formatter{lines: newLineTable(base, src), entries: map[int]*entry{}}
	f.text = strings.Split(strings.TrimRight(string(src), "\n \t"), "\n")
	f.value(&entry{first: root.Line}, root, "")
	out := f.print()
	if again := decode(base, out, &list); again == nil || !sameTree(root, again) {
		return nil, fmt.Errorf("formatting %s would change what it says", filename)
	}
	return out, nil
}

// A formatter collects the entries that begin on each line, and then prints line by line.
type formatter struct {
	lines   *lineTable
	text    []string       // the lines of the source
	entries map[int]*entry // entries by the line that they begin on, from 1
}

// An entry is a line of a block collection: a key with its value, or an item, with all nested entries that begin on
// its line.
type entry struct {
	first, last int    // lines, from 1
	column      int    // column of the lead in the source, from 0
	depth       int    // level of nesting, from 0
	lead        string // the key or dash, such as "- out:"
	value       string // text after the lead, in the standard form; empty for a block below
	comment     string // comment after the value
	commentAt   int    // column of the comment in the source, from 0, in characters
	verbatim    bool   // the value spans lines, or its end is unknown: only the indentation of its lines changes
	section     *section
}

// A section is the entries of one block collection, whose comments are in one column.
type section struct {
	key     string // the key whose value the collection is
	entries []*entry
	aligned bool
}

// value formats the value after the lead of an entry. key is the key of the map entry to which the value belongs.
func (f *formatter) value(e *entry, n *yaml.Node, key string) {
	switch {
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0:
		f.block(e, n, key, 2)
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		f.block(e, n, key, 1)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "":
		f.rest(e, f.after(e))
	default:
		f.inline(e, n, key == "ops")
	}
}

// block formats the entries of a block collection, step nodes for each: 2 in a map, 1 in a list. The first entry may begin
// on the line of its parent.
func (f *formatter) block(parent *entry, n *yaml.Node, key string, step int) {
	s := &section{key: key}
	if first := n.Content[0]; parent.section != nil && parent.first < first.Line && (step == 2 || f.dashLine(first) > parent.first) {
		f.rest(parent, f.after(parent))
	}
	for i := 0; i < len(n.Content); i += step {
		head, last := n.Content[i], n.Content[i+step-1]
		e := &entry{first: head.Line, last: head.Line, column: head.Column - 1, section: s}
		lead, child := "-", key
		if step == 2 {
			lead, child = f.scalar(head)+":", head.Value
		} else {
			e.first, e.column = f.dash(head)
			e.last = e.first
		}
		e.depth, e.lead = parent.depth+1, lead
		switch {
		case parent.section == nil:
			e.depth = 0
		case i == 0 && e.first == parent.first: // "- out: B"
			e.lead, e.column, e.depth = parent.lead+" "+lead, parent.column, parent.depth
			e.section = parent.section
			parent.section.entries = slices.DeleteFunc(parent.section.entries, func(o *entry) bool { return o == parent })
		}
		e.section.entries = append(e.section.entries, e)
		f.entries[e.first] = e
		f.value(e, last, child)
	}
}

// dash finds the dash of an item: its line, from 1, and its column, from 0, in bytes.
func (f *formatter) dash(item *yaml.Node) (line, column int) {
	at := f.lines.offset(item.Line, item.Column)
	for at--; at >= 0; at-- {
		if f.lines.src[at] == '-' {
			break
		}
	}
	p := f.lines.pos(max(at, 0))
	return p.Line, p.Col - 1
}

func (f *formatter) dashLine(item *yaml.Node) int {
	line, _ := f.dash(item)
	return line
}

// after returns the byte offset after the lead of an entry.
func (f *formatter) after(e *entry) int {
	return f.lines.starts[e.first-1] + e.column + len(e.lead)
}

// rest reads the rest of a line: empty, or a comment. Other text makes the entry verbatim.
func (f *formatter) rest(e *entry, from int) {
	end := len(f.lines.src)
	if e.first < len(f.lines.starts) {
		end = f.lines.starts[e.first] - 1
	}
	if from > end {
		e.verbatim = true
		return
	}
	rest := strings.TrimSpace(string(f.lines.src[from:end]))
	if rest != "" && rest[0] != '#' {
		e.verbatim = true
	}
	e.comment = rest
	if rest != "" {
		start := f.lines.starts[e.first-1]
		e.commentAt = utf8.RuneCount(f.lines.src[start : from+bytes.IndexByte(f.lines.src[from:end], '#')])
	}
}

// sameTree reports whether two trees are equal, up to spaces in texts that are operations.
func sameTree(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || len(a.Content) != len(b.Content) || a.Kind == yaml.ScalarNode &&
		spaced(a.Value) != spaced(b.Value) {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
