package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sizes on the page, in pixels unless their comments name another unit. Times are in percent of the whole axis, so that
// the browser scales them.
const (
	laneHeight   = 28
	sliceHeight  = 26
	headHeight   = 20 // height of the head of a rank, above its tracks
	stripHeight  = 6  // height of the strip with hidden and exposed times, at the end of the head
	rankGap      = 8
	nameLetters  = 32     // characters of a name next to its track
	nameMargin   = 12     // space between names and tracks
	letterWidth  = 7      // width of a character of a name
	listLetters  = 60     // characters of a name in a list
	lastWidth    = 24     // the class of the narrowest slices: see widthClass
	behindMost   = 4      // number of listed slices that hide a transfer
	pathMost     = 6      // number of listed names of the critical path
	labelLetters = 80     // characters of a name on a slice
	maxDrawn     = 15_000 // limit of the slices of a page, which keeps it under 5 MB
)

// chart is a trace as drawn. All positions are already computed.
type chart struct {
	Height int
	Names  []label
	Bands  []box
	Slices []box
	Links  []link
}

type label struct {
	Y           int
	Class       string
	Short, Full string
}

// box is a slice, or a shaded time range of a rank.
type box struct {
	Class, Name string
	X, Width    string // percent of the axis
	Y, Height   int
	Labelled    bool
	slice       *Slice
}

// link is a line segment of the critical path.
type link struct {
	FromX, ToX string
	FromY, ToY int
}

// layout places a trace on an axis of the given length. It omits slices and shaded ranges shorter than shortest.
func (t *Trace) layout(axis, shortest Time) chart {
	c := chart{}
	middles := map[*Slice]int{}
	y := 0
	for _, r := range t.Ranks {
		c.Names = append(c.Names, label{y + headHeight - 6, "rank", shortened(r.Name, nameLetters), r.Name})
		top := y
		y += headHeight
		for _, track := range r.Tracks {
			c.Names = append(c.Names, label{y + 17, "track", shortened(track.Name, nameLetters), track.Name})
			for _, s := range track.Slices {
				if s.Length() < shortest {
					continue
				}
				at := y + s.Lane*laneHeight
				middles[s] = at + sliceHeight/2
				c.Slices = append(c.Slices, sliceBox(s, at, axis))
			}
			y += track.Lanes * laneHeight
		}
		c.band("hidden", r.hidden, top, y, axis, shortest)
		c.band("exposed", r.exposed, top, y, axis, shortest)
		y += rankGap
	}
	c.Height = y
	for i, step := range t.Path {
		at := step.Last.Begin
		if i > 0 {
			c.link(t.Path[i-1].End, at, middles[t.Path[i-1].Slice], middles[step.Last], axis)
		}
		c.link(at, at, middles[step.Last], middles[step.Slice], axis)
	}
	return c
}

// link draws a segment of the critical path, unless it is empty or one of its ends is not drawn.
func (c *chart) link(from, to Time, fromY, toY int, axis Time) {
	if fromY > 0 && toY > 0 && (from != to || fromY != toY) {
		c.Links = append(c.Links, link{percent(from, axis), percent(to, axis), fromY, toY})
	}
}

func sliceBox(s *Slice, y int, axis Time) box {
	class := "s " + s.Kind.String() + " w" + strconv.Itoa(widthClass(s.Length(), axis))
	if s.Critical {
		class += " crit"
	}
	return box{
		Class: class, Name: shortened(s.Name, labelLetters) + s.moved(), X: percent(s.Begin, axis), Width: percent(s.Length(), axis), Y: y,
		Height:   sliceHeight,
		Labelled: s.Kind.Works(), slice: s,
	}
}

// band shades time ranges of a rank: a strip in its head, and in a paler colour all of its tracks.
func (c *chart) band(class string, times spans, top, bottom int, axis, shortest Time) {
	for _, s := range times {
		length := s.end - s.begin
		if length < shortest {
			continue
		}
		strip := box{Class: class + " strip", X: percent(s.begin, axis), Width: percent(length, axis), Y: top + headHeight - stripHeight - 2,
			Height: stripHeight}
		below := strip
		below.Class, below.Y, below.Height = class, top+headHeight-2, bottom-top-headHeight
		c.Bands = append(c.Bands, strip, below)
	}
}

// widthClass returns how often the axis can be halved and still be at least as long as the slice, at most lastWidth.
// The page hides the edges of the classes that are too narrow at its zoom.
func widthClass(length, axis Time) int {
	class := 0
	for class < lastWidth && length<<(class+1) <= axis {
		class++
	}
	return class
}

// shortestDrawn returns the least length of a drawn slice for which a page has no more slices than most. It is 0 if the
// page can have all slices.
func shortestDrawn(traces []*Trace, most int) Time {
	var lengths []Time
	for _, t := range traces {
		t.all(func(s *Slice) { lengths = append(lengths, s.Length()) })
	}
	if len(lengths) <= most {
		return 0
	}
	slices.Sort(lengths)
	return lengths[len(lengths)-most] + 1
}

// percent prints a time as a share of the axis.
func percent(t, axis Time) string {
	if axis == 0 {
		return "0"
	}
	text := strings.TrimRight(strconv.FormatFloat(100*float64(t)/float64(axis), 'f', 6, 64), "0")
	return strings.TrimSuffix(text, ".")
}

// shortened keeps the beginning and the end of a name of more than most characters.
func shortened(name string, most int) string {
	letters := []rune(name)
	if len(letters) <= most {
		return name
	}
	half := (most - 1) / 2
	return string(letters[:half]) + "…" + string(letters[len(letters)-half:])
}

// String prints a time with about three digits.
func (t Time) String() string {
	switch us := float64(t) / 1000; {
	case t == 0:
		return "0"
	case us >= 10_000:
		return fmt.Sprintf("%.1f ms", us/1000)
	case us >= 1000:
		return fmt.Sprintf("%.2f ms", us/1000)
	case us >= 100:
		return fmt.Sprintf("%.0f us", us)
	case us >= 1:
		return fmt.Sprintf("%.1f us", us)
	}
	return fmt.Sprintf("%d ns", int64(t))
}

// share prints a part of a whole in percent.
func share(part, whole Time) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// listed prints the shares. If there are more than most, it prints the first ones and the number of the others.
func listed(all []Share, most int) string {
	var words []string
	for i, s := range all {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		text := shortened(s.Name, listLetters) + " " + s.Time.String()
		if s.Times > 1 {
			text += fmt.Sprintf(" in %d", s.Times)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
