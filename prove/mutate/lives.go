package mutate

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// inLife returns a mistake in the host steps around the calls. Each step with one of the given deeds is a site. edit
// gets a copy of the section's list and the index of the step in it, and returns the list with the mistake.
func inLife(what string, edit func(l *calls.Life, list []calls.Step, at int) []calls.Step, deeds ...calls.Deed) func(*editor) {
	return func(e *editor) {
		l := &e.program.Life
		for _, section := range l.Sections() {
			for at, step := range *section.Steps {
				if slices.Contains(deeds, step.Do) && e.hereStep(step, what) {
					*section.Steps = edit(l, slices.Clone(*section.Steps), at)
					return
				}
			}
		}
	}
}

// hereStep counts a step that could be wrong, and reports whether the mistake has to be made in it.
func (e *editor) hereStep(step calls.Step, what string) bool {
	e.met++
	if e.met-1 != e.site {
		return false
	}
	e.what = step.String() + ": " + what
	return true
}

func dropStep(_ *calls.Life, list []calls.Step, at int) []calls.Step {
	return slices.Delete(list, at, at+1)
}

func repeatStep(_ *calls.Life, list []calls.Step, at int) []calls.Step {
	return slices.Insert(list, at, list[at])
}

// behindCalls moves a step after the last call.
func behindCalls(l *calls.Life, list []calls.Step, at int) []calls.Step {
	l.Destroy = slices.Insert(l.Destroy, 0, list[at])
	return slices.Delete(list, at, at+1)
}

// beforeFirst returns an edit that moves a step before the first step of its section with one of the given deeds, or
// to the end of the section if there is none.
func beforeFirst(deeds ...calls.Deed) func(l *calls.Life, list []calls.Step, at int) []calls.Step {
	return func(_ *calls.Life, list []calls.Step, at int) []calls.Step {
		step := list[at]
		list = slices.Delete(list, at, at+1)
		to := slices.IndexFunc(list, func(s calls.Step) bool { return slices.Contains(deeds, s.Do) })
		if to < 0 {
			to = len(list)
		}
		return slices.Insert(list, to, step)
	}
}

// toEnd moves a step to the end of its section.
func toEnd(_ *calls.Life, list []calls.Step, at int) []calls.Step {
	return append(lists.Without(list, at), list[at])
}

// freeBeforeClose frees shared memory before the first close.
func freeBeforeClose(e *editor) {
	shared := map[string]bool{}
	buffers := calls.ByName(e.program.Buffers)
	for _, d := range e.program.Shares {
		shared[d.Memory], shared[calls.FlagsOf(d.Name)] = true, true
		if b := buffers[d.Memory]; b != nil && b.In != "" {
			shared[b.In] = true
		}
	}
	list := &e.program.Life.Destroy
	for at, step := range *list {
		if step.Do == calls.Free && shared[step.Name] && e.hereStep(step, "before the first close") {
			*list = beforeFirst(calls.Close)(nil, slices.Clone(*list), at)
			return
		}
	}
}

// dropMeetings removes all meetings of ranks, since any one of them is enough.
func dropMeetings(e *editor) {
	meets := func(s calls.Step) bool { return s.Do == calls.Meet }
	list := &e.program.Life.Destroy
	if slices.ContainsFunc(*list, meets) && e.hereStep(calls.Step{Do: calls.Meet}, "all left out") {
		*list = lists.Except(*list, meets)
	}
}
