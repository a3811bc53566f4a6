package place

import (
	"hash/maphash"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// held is a family of which later statements read a node.
type held struct {
	*family
	reading
}

// live lists the held families of a state. Most statements change two or three of them, and the forward pass of a training step can
// leave thousands for the backward pass. So states share pages of families, and change copies of them.
type live struct {
	pages []*page // sorted by number
	sum   digest
}

// page has the held families whose id divided by pageSize is number, sorted by id. It never changes.
type page struct {
	number int
	list   []held
}

const pageSize = 16

// digest is a hash of 128 bits of all held families. States after the same statement with equal digests are taken for equal: 10^9
// states have two different ones with equal digests with a probability of 10^-21.
type digest [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// toggle adds a family to the digest, or removes it.
func (d *digest) toggle(h held) {
	for i, seed := range seeds {
		var of maphash.Hash
		of.SetSeed(seed)
		maphash.WriteComparable(&of, h.id)
		maphash.WriteComparable(&of, h.reading)
		d[i] ^= of.Sum64()
	}
}

// clone returns a copy that shares all pages.
func (l live) clone() live { return live{slices.Clone(l.pages), l.sum} }

// find returns the index of the page of a family, and the index of the family in it, or the indices at which they would be inserted.
func (l *live) find(f *family) (at, in int, found bool) {
	at, found = slices.BinarySearchFunc(l.pages, f.id/pageSize, func(p *page, number int) int { return p.number - number })
	if found {
		in, found = slices.BinarySearchFunc(l.pages[at].list, f.id, func(h held, id int) int { return h.id - id })
		return at, in, found
	}
	return at, 0, false
}

// of returns the reading of a family, or false if the family is not held.
func (l *live) of(f *family) (reading, bool) {
	at, in, found := l.find(f)
	if !found {
		return reading{}, false
	}
	return l.pages[at].list[in].reading, true
}

// set holds a family with a reading.
func (l *live) set(f *family, r reading) {
	at, in, found := l.find(f)
	next := &page{number: f.id / pageSize}
	switch {
	case found:
		next.list = slices.Clone(l.pages[at].list)
		l.sum.toggle(next.list[in])
		next.list[in].reading = r
		l.pages[at] = next
	case at < len(l.pages) && l.pages[at].number == next.number:
		next.list = slices.Insert(slices.Clone(l.pages[at].list), in, held{f, r})
		l.pages[at] = next
	default:
		next.list = []held{{f, r}}
		l.pages = slices.Insert(l.pages, at, next)
	}
	l.sum.toggle(held{f, r})
}

// drop removes a family that is held.
func (l *live) drop(f *family) {
	at, in, _ := l.find(f)
	old := l.pages[at]
	l.sum.toggle(old.list[in])
	if len(old.list) == 1 {
		l.pages = slices.Delete(l.pages, at, at+1)
		return
	}
	l.pages[at] = &page{old.number, lists.Without(old.list, in)}
}
