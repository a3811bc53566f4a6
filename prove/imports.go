package prove

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// share proves the order of the host steps for memory that ranks share. A rank exports its own memory once, after its
// allocation, and imports the peers' memory once, after their exports. It closes an import once, after its last use.
// It frees its own memory after all peers have closed it.
func (l *life) share(d *calls.Share) {
	owner, peer, shared := l.pair(d)
	where := l.things.all[l.things.find(calls.FlagsOf(d.Name))].where
	once := func(do calls.Deed) (moment, bool) {
		list := l.all(d.Name, do)
		switch {
		case len(list) > 1:
			l.report(list[1], where, fmt.Sprintf("rank %d does %s twice", owner, list[1].Step), "", owner, nil)
		case len(list) == 0 && shared:
			at, _, _ := strings.Cut(where, " ")
			l.add(Finding{
				Check: Lifetimes, Severity: Error, Message: fmt.Sprintf("rank %d and rank %d share %s, and no step does %s", owner, peer, d.Memory,
					calls.Step{Do: do, Name: d.Name}),
				Missing: calls.Step{Do: do, Name: d.Name}.String(), At: []Place{{Rank: owner, Stream: "host", Spec: at}},
			})
		}
		if len(list) == 0 {
			return moment{}, false
		}
		return list[0], true
	}
	export, exported := once(calls.Export)
	imported, has := once(calls.Import)
	closed, closes := once(calls.Close)
	memory := []string{calls.FlagsOf(d.Name)}
	if !l.p.Calls.IsCallers(d) {
		memory = append(memory, l.memoryOf(d.Memory))
	}
	if exported {
		l.allocatedBeforeExport(export, memory, where, owner)
	}
	if !shared {
		return
	}
	if exported && has {
		l.importsExported(d, export, imported, where, owner, peer)
	}
	if closes {
		l.closesUnused(d, imported, closed, where, peer)
		l.freesClosed(d, closed, memory, where, owner, peer)
	}
}

// memoryOf returns the memory of a buffer: the buffer that contains it, or itself.
func (l *life) memoryOf(buffer string) string {
	if b := calls.ByName(l.p.Calls.Buffers)[buffer]; b != nil && b.In != "" {
		return b.In
	}
	return buffer
}

// pair returns a rank that owns memory of a share and one of its peers. ok is false if the rank has no peers, or if the mesh of
// the share is not declared.
func (l *life) pair(d *calls.Share) (owner, peer int32, ok bool) {
	c := l.p.Calls
	m := c.Meshes[0]
	if d.Mesh != "" {
		m = c.MeshNamed(d.Mesh)
	}
	if m == nil {
		return 0, 0, false
	}
	members, step, along := c.Members(m), int64(1), int64(len(c.Members(m)))
	if d.Mesh != "" {
		_, step = c.Coordinate(m, d.Axis, members[0])
		along, _ = c.Values().Eval(m.Extents[d.Axis])
	}
	if along < 2 {
		return int32(members[0]), int32(members[0]), false
	}
	return int32(members[0]), int32(members[step]), true
}

// allocatedBeforeExport proves that memory is allocated before it is exported.
func (l *life) allocatedBeforeExport(export moment, memory []string, where string, owner int32) {
	for _, name := range memory {
		if made := l.all(name, calls.Allocate); len(made) > 0 && made[0].at > export.at {
			l.report(export, where, fmt.Sprintf("rank %d does %s before it has %s", owner, export.Step, name),
				fmt.Sprintf("from %s to %s", made[0].Step, export.Step), owner, &peerStep{made[0], owner})
		}
	}
}

// importsExported proves that an import follows the exports of the peers, because ranks exchange handles or meet in
// between, and that the import precedes the calls.
func (l *life) importsExported(d *calls.Share, export, imported moment, where string, owner, peer int32) {
	if _, met := l.between(export.at, imported.at, d.Name, calls.Exchange, calls.Meet); !met {
		l.report(imported, where, fmt.Sprintf("rank %d imports %s of rank %d, which may not have exported it", peer, d.Memory, owner),
			fmt.Sprintf("from %s (rank %d) to %s (rank %d): %s", export.Step, owner, imported.Step, peer,
				calls.Step{Do: calls.Exchange, Name: d.Name}), peer, &peerStep{export, owner})
	}
	if imported.at >= l.calls {
		l.report(imported, where, fmt.Sprintf("rank %d imports %s of rank %d behind the last call", peer, d.Memory, owner),
			fmt.Sprintf("%s before the first call", imported.Step), peer, nil)
	}
}

// closesUnused proves that a rank closes its import after importing it and after its last use.
func (l *life) closesUnused(d *calls.Share, imported, closed moment, where string, peer int32) {
	if closed.at < imported.at {
		l.report(closed, where, fmt.Sprintf("rank %d closes %s before it has imported it", peer, d.Name), "", peer, nil)
	}
	flags := l.things.all[l.things.find(calls.FlagsOf(d.Name))]
	u := flags.remote
	if _, finished := l.between(l.calls, closed.at, "", calls.Finish); u.used && !finished {
		l.report(closed, where, fmt.Sprintf("rank %d closes %s while its %s may use it", u.rank, d.Name,
			place(l.p, u.rank, u.op, Calls-1).Operation),
			fmt.Sprintf("finish before %s", closed.Step), u.rank, &u)
	}
}

// freesClosed proves that memory is freed after all peers have closed it. The caller frees its memory after the last step.
func (l *life) freesClosed(d *calls.Share, closed moment, memory []string, where string, owner, peer int32) {
	for _, name := range memory {
		gone := l.all(name, calls.Free)
		if len(gone) == 0 {
			continue
		}
		if _, met := l.between(closed.at, gone[0].at, "", calls.Meet); !met {
			l.report(gone[0], where, fmt.Sprintf("%s of rank %d is freed while rank %d may have it open", name, owner, peer),
				fmt.Sprintf("from %s (rank %d) to %s (rank %d): meet", closed.Step, peer, gone[0].Step, owner), owner, &peerStep{closed, peer})
		}
	}
	if _, met := l.between(closed.at, len(l.steps), "", calls.Meet); !met && l.p.Calls.IsCallers(d) {
		l.report(closed, where, fmt.Sprintf("the caller may free %s of rank %d while rank %d has it open", d.Memory, owner, peer),
			fmt.Sprintf("meet behind %s", closed.Step), peer, nil)
	}
}
