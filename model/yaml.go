package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
)

const (
	// MaxSpecSize is the largest spec that is read, in bytes.
	MaxSpecSize = 1 << 20
	// maxNodes limits the number of values of a spec, and maxNesting their nesting depth.
	maxNodes   = 200_000
	maxNesting = 16
)

// LoadFile reads the spec at path and loads it. It reads at most MaxSpecSize bytes, and one more to detect a larger
// file. It also returns the text of the spec for reports, even if the spec has errors, unless the file cannot be read.
func LoadFile(path string, overrides map[string]int64, schedule ...Setting) (*Pipeline, []byte, error) {
	src, err := readSpec(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := Load(path, src, overrides, schedule...)
	return p, src, err
}

func readSpec(path string) ([]byte, error) {
	unreadable := func(err error) error {
		var inner *os.PathError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		var list diag.List
		list.Add(diag.Pos{File: path}, diag.Unreadable, "the spec cannot be read: %v", err)
		return list.Err()
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	// One more byte shows that the file is too large.
	src, err := io.ReadAll(io.LimitReader(f, MaxSpecSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, unreadable(err)
	}
	return src, nil
}

// Load makes a pipeline from the text of a spec. Messages contain filename. The positions in the pipeline have only
// its base name, so that generated files do not depend on the folder of the spec. overrides replaces values of
// parameters, and schedule replaces fields of the schedule.
//
// An error is a *diag.Errors with all errors found, in order of position.
func Load(filename string, src []byte, overrides map[string]int64, schedule ...Setting) (*Pipeline, error) {
	base := filepath.Base(filename)
	var list diag.List
	var p *Pipeline
	if root := decode(base, src, &list); root != nil {
		r := &yamlReader{list: &list, lines: newLineTable(base, src)}
		s := r.document(root)
		for _, setting := range schedule {
			s.set(setting)
		}
		p = assemble(s, overrides, &list)
	}
	if list.Len() > 0 {
		return nil, renamed(&list, base, filename)
	}
	return p, nil
}

// decode parses src into a tree of nodes. It returns nil after it has reported an error.
func decode(file string, src []byte, list *diag.List) *yaml.Node {
	if !checkText(file, src, list) {
		return nil
	}
	lines := newLineTable(file, src)
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document yaml.Node
	if err := decodeNode(decoder, &document); err != nil {
		if errors.Is(err, io.EOF) {
			list.Add(diag.Pos{File: file, Line: 1, Col: 1}, diag.MissingField, "the spec is empty").
				WithHint("a spec starts with \"hirgen: 1\"")
		} else {
			reportSyntax(lines, err, list)
		}
		return nil
	}
	if !checkNodes(&document, lines, list) {
		return nil
	}
	var next yaml.Node
	if err := decodeNode(decoder, &next); err == nil {
		list.Add(lines.node(&next), diag.YAMLSyntax, "the file holds a second document").
			WithHint("a spec is one document: remove the \"---\" between them")
		return nil
	} else if !errors.Is(err, io.EOF) {
		reportSyntax(lines, err, list)
		return nil
	}
	return document.Content[0]
}

// decodeNode reads one document. The library's parser panics on some malformed texts; decodeNode returns such a panic as a
// syntax error.
func decodeNode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return decoder.Decode(node)
}

// checkNodes enforces the limits on the tree. It refuses tags, which change the meaning of a text, and anchors and
// aliases, with which a small text can represent a huge tree. It returns false after it has reported an error.
func checkNodes(document *yaml.Node, lines *lineTable, list *diag.List) bool {
	count, ok := 0, true
	var visit func(n *yaml.Node, depth int)
	visit = func(n *yaml.Node, depth int) {
		count++
		switch {
		case !ok:
			return
		case count > maxNodes:
			list.Add(lines.node(n), diag.TooLarge, "the spec has more than %d values", maxNodes)
			ok = false
		case depth > maxNesting:
			list.Add(lines.node(n), diag.TooLarge, "values are nested more than %d deep", maxNesting)
			ok = false
		case n.Kind == yaml.AliasNode:
			list.Add(lines.node(n), diag.AliasUsed, "alias %q is used; a spec has no aliases", "*"+n.Value).
				WithHint("write the value out, or make it a parameter")
			ok = false
		case n.Anchor != "":
			list.Add(lines.node(n), diag.AliasUsed, "anchor %q is defined; a spec has no anchors", "&"+n.Anchor).
				WithHint("write the value out, or make it a parameter")
			ok = false
		case n.Style&yaml.TaggedStyle != 0:
			list.Add(lines.node(n), diag.AliasUsed, "tag %q is used; a spec has no tags", n.Tag)
			ok = false
		}
		for _, child := range n.Content {
			visit(child, depth+1)
		}
	}
	visit(document, 0)
	return ok
}

// renamed returns the diagnostics of a list as an error, with another name of the file.
func renamed(list *diag.List, base, filename string) error {
	errs := &diag.Errors{Items: list.Items()}
	errs.Rename(base, filename)
	return errs
}
