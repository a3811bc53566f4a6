package schedules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/spell"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/streams"
	"github.com/hirgen/hirgen/model/schedule"
)

// CheckSchedule checks the schedule against the communications of the program, so that no field for communications is
// silently ignored. It reports names that no communication has, fields that apply to no communication, and values that a
// communication cannot have. It also reports communications in one loop with different values for how to split or order
// the loop. It does not check what schedule: auto has chosen. If parameters give a mesh axis one rank, there is no
// communication along that axis. A field may then refer to a missing communication, so that a spec also runs on one
// rank.
//
// Requires: each communication is a separate statement.
// Establishes: every field of the user that concerns communications applies to at least one communication, unless
// parameters give a mesh axis one rank.
func CheckSchedule(p *hostir.Program) error {
	if hostir.Allocates(p) || len(p.Choices.Choices) == 0 {
		return nil
	}
	facts, ok := streams.Communications(p)
	if !ok {
		return nil // lower-streams reports why there are no pipelines
	}
	c := &scheduleCheck{program: p, facts: facts, single: hostir.HasSingleRanks(p)}
	for _, choice := range p.Choices.Choices {
		switch {
		case !p.Given(choice):
		case choice.Of != "":
			c.choice(choice)
		case choice.Field == schedule.Pipeline && choice.Value != schedule.Collective && len(facts) == 0 && !c.single:
			c.complain(choice, nothingCrosses, nil)
		case choice.Field == schedule.Transport && p.Choices.Exchanges():
			c.transport(choice)
		}
	}
	if c.errors.Len() == 0 {
		c.loops()
		c.interchanged()
	}
	return c.errors.Err()
}

// scheduleCheck checks the communications of a program.
type scheduleCheck struct {
	program *hostir.Program
	facts   []*schedule.Facts
	single  bool // some mesh axis has one rank because of the parameters
	errors  diag.List
}

// nothingCrosses is the problem of fields for communications in a program without communications.
var nothingCrosses = &schedule.Problem{Why: "nothing of this program crosses ranks", Hint: "leave it out"}

// choice checks a field for one communication, or for all.
func (c *scheduleCheck) choice(choice schedule.Choice) {
	of := c.facts
	if choice.Of != schedule.All {
		of = lists.Except(of, func(f *schedule.Facts) bool { return f.Name != choice.Of })
		if len(of) == 0 {
			if !c.single || !hostir.NamedInSpec(c.program, choice.Of) {
				c.unknown(choice)
			}
			return
		}
	}
	var inapplicable *schedule.Problem
	applies := false
	for _, f := range of {
		switch p := f.Check(choice); {
		case p == nil:
			applies = true
		case !p.Inapplicable:
			c.complain(choice, p, f)
			return
		case inapplicable == nil:
			inapplicable = p
		}
	}
	switch {
	case applies, c.single && choice.Of == schedule.All:
	case inapplicable == nil:
		c.complain(choice, nothingCrosses, nil)
	case choice.Of == schedule.All:
		why := &schedule.Problem{Why: "it applies to no communication of this program: " + inapplicable.Why, Hint: inapplicable.Hint}
		c.complain(choice, why, of[0])
	default:
		c.complain(choice, inapplicable, of[0])
	}
}

// transport checks that the program has a point-to-point communication, because transport applies only to these.
func (c *scheduleCheck) transport(choice schedule.Choice) {
	if !c.single && !slices.ContainsFunc(c.facts, func(f *schedule.Facts) bool { return f.P2P }) {
		c.complain(choice, &schedule.Problem{
			Why: "no communication of this program sends shards from rank to rank", Hint: "leave it out: NCCL carries collectives",
		}, nil)
	}
}

// complain reports a problem of a schedule field. If of is set, it is the communication that has the problem. A field
// in the spec for all communications then gets a note with the position of that communication, and a field from the
// command line gets its position.
func (c *scheduleCheck) complain(choice schedule.Choice, p *schedule.Problem, of *schedule.Facts) {
	inSpec := choice.Pos.IsValid()
	if !inSpec && of != nil {
		choice.Pos = of.Pos // the choice is on the command line, which has no position
	}
	d := schedule.Complain(&c.errors, choice, p)
	if inSpec && of != nil && choice.Of == schedule.All {
		d.AddNote(of.Pos, "the %s of %s is here", of.Kind, of.Name)
	}
}

// unknown reports a name that no communication has. It reports each name once.
func (c *scheduleCheck) unknown(choice schedule.Choice) {
	message := fmt.Sprintf("schedule.%s: there is no communication of %s", choice.Of, choice.Of)
	if slices.ContainsFunc(c.errors.Items(), func(d *diag.Diagnostic) bool { return d.Message == message }) {
		return // already reported for another field
	}
	d := c.errors.Add(choice.Pos, diag.BadSchedule, "%s", message)
	var names, listed []string
	for _, f := range c.facts {
		if text := f.Name + " (" + f.Kind + ")"; !slices.Contains(listed, text) {
			names, listed = append(names, f.Name), append(listed, text)
		}
	}
	switch nearest, ok := spell.Nearest(choice.Of, names); {
	case len(names) == 0:
		d.WithHint("nothing of this program crosses ranks")
	case ok:
		d.WithHint("did you mean %q? The communications are %s", nearest, strings.Join(listed, ", "))
	default:
		d.WithHint("the communications are %s", strings.Join(listed, ", "))
	}
}

// loops reports communications in one loop that have, by their names, different values for how to split or order the
// loop.
func (c *scheduleCheck) loops() {
	reported, seen := map[string]bool{}, map[*string]bool{}
	for _, f := range c.facts {
		if len(f.Loop) == 0 || seen[&f.Loop[0]] {
			continue // the communications of one loop share the list of their names
		}
		seen[&f.Loop[0]] = true
		for _, field := range schedule.Names(schedule.Communication) {
			if structural, _ := schedule.Named(field); !structural.Structural {
				continue
			}
			var first *schedule.Choice
			for _, name := range f.Loop {
				choice, ok := c.program.Choices.Given(name, field)
				switch {
				case !ok:
				case first == nil:
					first = &choice
				case first.Value != choice.Value && !reported[choice.Path()]:
					reported[choice.Path()] = true
					c.errors.Add(choice.Pos, diag.BadSchedule, "schedule.%s: %s and %s run in one loop, and schedule.%s is %s",
						choice.Path(), first.Of, choice.Of, first.Path(), first.Value).
						AddNote(first.Pos, "that is chosen here").WithHint("choose the same for both, or leave one of them out")
				}
			}
		}
	}
}

// interchanged reports two sums, or gathers of sums, that have interchange: true and different splits, if there are
// any.
func (c *scheduleCheck) interchanged() {
	splits := map[string]*schedule.Facts{}
	for _, f := range c.facts {
		if f.Interchanged() && splits[f.Get(schedule.Split)] == nil {
			splits[f.Get(schedule.Split)] = f
		}
	}
	if len(splits) < 2 {
		return
	}
	values := slices.Sorted(maps.Keys(splits))
	a, b := splits[values[0]], splits[values[1]]
	if b.Pos.Before(a.Pos) {
		a, b = b, a
	}
	first, second := chosenSplit(a), chosenSplit(b)
	d := c.errors.Add(second.Pos, diag.BadSchedule, "schedule.%s: with interchange: true all sums have one split, and that of %s is %s",
		second.Path(), a.Name, a.Get(schedule.Split))
	if first.Pos.IsValid() {
		d.AddNote(first.Pos, "that is chosen here")
	}
	d.WithHint("choose one split for both")
}

// chosenSplit returns the schedule field that sets the split of a communication, or a field without a position if none
// does.
func chosenSplit(f *schedule.Facts) schedule.Choice {
	for _, name := range append(slices.Clone(f.Loop), schedule.All) {
		if c, ok := f.Schedule.Given(name, schedule.Split); ok {
			return c
		}
	}
	return schedule.Choice{Of: f.Name, Field: schedule.Split}
}
