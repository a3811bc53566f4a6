package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// leastRoom is the least space on either side of the position of 1.00, as a share of the span of the bars. The label
// "1.00" above that position needs it.
const leastRoom = 0.07

// summary compares the fastest peer with the fastest program of each problem that has peers, on a logarithmic scale.
type summary struct {
	One   string // position of 1.00, in percent of the bar column
	Where string // ranks and device, if all problems ran on the same
	Won   int    // problems where hirgen is no slower
	Of    int    // problems with a correct program of hirgen and a correct peer
	Lines []summaryLine
}

// summaryLine is a problem. Left and Length place the bar from 1.00 to the ratio, in percent.
type summaryLine struct {
	Number        int // number of the problem on the page
	Head          string
	Own, Peer     string // names of the fastest correct rows; empty if there is none
	OwnUs, PeerUs string
	Ratio         string // time of the peer divided by the time of hirgen
	IsSlower      bool
	Left, Length  string
	logarithm     float64
}

// summaryOf summarizes the problems that have peers. It returns nil if there is none.
func summaryOf(problems [][]Row) *summary {
	s := &summary{}
	low, high := 0.0, 0.0
	for n, rows := range problems {
		if !slices.ContainsFunc(rows, func(row Row) bool { return row.Peer }) {
			continue
		}
		own, peer := fastest(rows, false), fastest(rows, true)
		line := summaryLine{Number: n + 1, Head: rows[0].Problem(), OwnUs: "-", PeerUs: "-", Ratio: "-"}
		if own != nil {
			line.Own, line.OwnUs = own.caseName(), number(own.Median, 1)
		}
		if peer != nil {
			line.Peer, line.PeerUs = peer.caseName(), number(peer.Median, 1)
		}
		if own != nil && peer != nil {
			ratio := peer.Median / own.Median
			line.logarithm, line.Ratio, line.IsSlower = math.Log(ratio), number(ratio, 3), ratio < 1
			s.Of++
			if !line.IsSlower {
				s.Won++
			}
		}
		low, high = min(low, line.logarithm), max(high, line.logarithm)
		s.Lines = append(s.Lines, line)
	}
	if len(s.Lines) == 0 {
		return nil
	}
	s.place(low, high)
	s.Where = sharedPlace(problems)
	for i := range s.Lines {
		s.Lines[i].Head = strings.TrimSuffix(s.Lines[i].Head, " "+s.Where)
	}
	return s
}

// place sets the positions of 1.00 and of the bars. low is the smallest logarithm of a ratio, and at most 0. high is the
// largest logarithm, and at least 0.
func (s *summary) place(low, high float64) {
	span := max(high-low, 0.02)
	low, high = min(low, -leastRoom*span), max(high, leastRoom*span)
	at := func(x float64) float64 { return 1.5 + full*(x-low)/(high-low) }
	s.One = percent(at(0))
	for i := range s.Lines {
		line := &s.Lines[i]
		from, to := min(0, line.logarithm), max(0, line.logarithm)
		line.Left, line.Length = percent(at(from)), percent(at(to)-at(from))
	}
}

// sharedPlace returns the ranks and the device that all problems ran on: "(2 ranks, cuda)". It is empty if they differ.
func sharedPlace(problems [][]Row) string {
	first := problems[0][0].place()
	for _, rows := range problems {
		if rows[0].place() != first {
			return ""
		}
	}
	return first
}

// place returns the ranks and the device of a row as text. It is empty if they are not known.
func (r *Row) place() string {
	if r.Ranks == 0 {
		return ""
	}
	return fmt.Sprintf("(%d ranks, %s)", r.Ranks, r.Device)
}
