package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// headSections adds the name of a communication to the note of the first statement of each of its sections:
// "reduce-scatter of P over x, into C". A section is a run of statements of a list that only communicate; in a branch,
// the note is on the branch's first statement. The note of a section that moves no data names its waits instead: "wait
// for all parts of the reduce-scatter of ...", or "wait until peers have read their parts of ...". Waits for events
// alone are no section, because their labels say what they wait for. Records and waits before a loop or a batch are not
// part of its section.
func headSections(list []calls.Stmt, labels map[string]*calls.Label) {
	said := ""
	for i, s := range list {
		parts, alone := communicates(s)
		switch text := strings.Join(parts, "; "); {
		case !alone:
			said = ""
			for _, inner := range calls.Bodies(s) {
				headSections(*inner, labels)
			}
		case text != "" && text != said:
			said = text
			if branch, ok := s.(*calls.If); ok && len(branch.Else) == 0 {
				headSections(branch.Body, labels)
				continue
			}
			at := first(list, i)
			switch s.(type) {
			case *calls.For, *calls.MemOpBatch:
				at = i
			}
			info := list[at].Meta()
			if !calls.Any(section(list[i:], said), moves) {
				words := "wait for all parts of the "
				if _, one := s.(*calls.FlagWait); one {
					words = "wait for one part of the "
				}
				if reads(s, labels) {
					words = "wait until peers have read their parts of the "
				}
				text = words + text
			}
			if info.Note != "" {
				text += ". " + strings.ToUpper(info.Note[:1]) + info.Note[1:]
			}
			info.Note = text
		}
	}
}

// reads reports whether a statement only waits until peers have read shared memory, according to its labels.
func reads(s calls.Stmt, labels map[string]*calls.Label) bool {
	found := false
	for inner := range calls.All([]calls.Stmt{s}) {
		switch inner.(type) {
		case *calls.FlagWait, *calls.MemOpBatch:
			if d := labels[inner.Meta().Label]; d != nil {
				if found = strings.Contains(d.Text, "wait until peers have read "); !found {
					return false
				}
			}
		}
	}
	return found
}

// section returns the statements at the start of a list that only communicate, for the communications in text.
func section(list []calls.Stmt, text string) []calls.Stmt {
	end := slices.IndexFunc(list, func(s calls.Stmt) bool {
		parts, alone := communicates(s)
		return !alone || len(parts) > 0 && strings.Join(parts, "; ") != text
	})
	if end < 0 {
		return list
	}
	return list[:end]
}

// moves reports whether a statement other than a wait or a record belongs to a communication: it transfers data, or
// lets peers do so.
func moves(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.FlagWait, *calls.StreamWait, *calls.EventRecord:
		return false
	}
	return s.Meta().Part != ""
}

// communicates returns the communications of a statement and its nested statements. alone reports whether they do
// nothing else. Declarations of names, records and waits do not count.
func communicates(s calls.Stmt) (parts []string, alone bool) {
	alone = true
	for s := range calls.All([]calls.Stmt{s}) {
		switch s := s.(type) {
		case *calls.StreamWait, *calls.EventRecord, *calls.Let, *calls.Declare, *calls.DeclareStream, *calls.BeginCall:
		default:
			if part := s.Meta().Part; part == "" {
				alone = alone && len(calls.Bodies(s)) > 0
			} else if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts, alone
}

// first returns the index at which the section of the statement at index i begins: the records and waits before it make
// its stream ready. The search stops at a statement with a note, because its note applies to all statements after it.
func first(list []calls.Stmt, i int) int {
	at := i
	for at > 0 && (at == i || list[at].Meta().Note == "") {
		r, records := list[at-1].(*calls.EventRecord)
		if !calls.Is[*calls.StreamWait](list[at-1]) && (!records || r.Watch) {
			break
		}
		at--
	}
	return at
}
