// Package mutate makes wrong programs from right ones: call IR programs with one mistake each, of the kinds that a faulty
// lowering makes. Tests and internal/tools/recall use them to check the verifiers.
//
// A mutant is not always wrong; for example, a redundant wait may be missing. An oracle, such as the interpreter of the calls,
// decides which mutants compute something else.
package mutate

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// Kind is one kind of mistake.
type Kind struct {
	Name string // "drop-event-wait"
	Doc  string // what is wrong in such a mutant
	edit func(*editor)
}

// Mutant is a program with one mistake.
type Mutant struct {
	Kind    string
	Site    int      // number of the place in the program, from 0
	Pos     diag.Pos // position in the spec; zero for a declaration or a step
	What    string   // the mistake, in one line
	Program *calls.Program
}

// Sites counts the places where a program can have a kind of mistake.
func Sites(p *calls.Program, k Kind) int {
	e := newEditor(p, k, -1)
	return e.met
}

// Make returns a copy of a program with a mistake at a site; nil if there is no such site.
func Make(p *calls.Program, k Kind, site int) *Mutant {
	e := newEditor(p, k, site)
	if site < 0 || site >= e.met {
		return nil
	}
	return &Mutant{Kind: k.Name, Site: site, Pos: e.pos, What: e.what, Program: e.program}
}

// Sample makes up to perKind mutants of each kind, at random sites. The same program, seed and count yield the same mutants.
func Sample(p *calls.Program, perKind int, seed uint64) []*Mutant {
	var list []*Mutant
	for _, k := range Kinds {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.Name + " " + k.Name))    // a hash never returns an error
		random := rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // no secret depends on it
		sites := random.Perm(Sites(p, k))
		for _, site := range sites[:min(perKind, len(sites))] {
			list = append(list, Make(p, k, site))
		}
	}
	return list
}

// An editor walks a copy of a program, counts the places for a mistake, and makes the mistake at one of them.
type editor struct {
	program *calls.Program
	ranks   int64
	site    int // index of the place where the mistake goes; -1: none
	met     int
	pos     diag.Pos
	what    string
}

func newEditor(p *calls.Program, k Kind, site int) *editor {
	e := &editor{program: again(p), site: site, ranks: int64(len(p.Ranks()))}
	k.edit(e)
	return e
}

// again copies a program.
func again(p *calls.Program) *calls.Program {
	q, err := text.Parse(p.File, text.Print(p))
	if err != nil {
		panic("mutate: a program is not read back: " + err.Error())
	}
	return q
}

// copied copies statements.
func (e *editor) copied(body ...calls.Stmt) []calls.Stmt {
	return again(&calls.Program{Name: e.program.Name, File: e.program.File, Body: body}).Body
}

// here counts a place, and reports whether the caller has to make the mistake there. The text describes the change of the
// statement or declaration.
func (e *editor) here(item any, format string, args ...any) bool {
	e.met++
	if e.met-1 != e.site {
		return false
	}
	line := calls.Op(item)
	if s, ok := item.(calls.Stmt); ok {
		e.pos, line = s.Meta().Pos, text.Statement(s)
	} else if name, ok := calls.Fields(item)[0].Value.(*string); ok {
		line += " " + *name
	}
	e.what = line + ": " + fmt.Sprintf(format, args...)
	return true
}

// inLists returns a mistake in lists of statements: edit gets each list and returns its replacement.
func inLists(edit func(e *editor, list []calls.Stmt) []calls.Stmt) func(*editor) {
	return func(e *editor) {
		e.program.Body = calls.EditLists(e.program.Body, func(list []calls.Stmt) []calls.Stmt { return edit(e, list) })
	}
}

// each returns a mistake in statements of type S: edit may change each of them in place.
func each[S calls.Stmt](edit func(e *editor, s S)) func(*editor) {
	return func(e *editor) {
		for typed := range calls.Each[S](e.program.Body) {
			edit(e, typed)
		}
	}
}
