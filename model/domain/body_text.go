package domain

import (
	"slices"
	"strings"
)

// Text prints the steps with the given names of the operands: "G = silu(Zg), A = mul(G, Zu)". Results that are not the
// last step have the prefix "also".
func (b Body) Text(operands []string) string {
	names, steps := slices.Clone(operands), make([]string, len(b))
	for i, s := range b {
		args := make([]string, 0, 3)
		fn, constant := SplitFn(s.Fn)
		if constant != "" {
			args = append(args, constant)
		}
		for _, a := range s.Args {
			args = append(args, names[a])
		}
		if s.Also {
			steps[i] = "also "
		}
		steps[i] += s.Name + " = " + fn + "(" + strings.Join(args, ", ") + ")"
		names = append(names, s.Name)
	}
	return strings.Join(steps, ", ")
}

// ParseBody parses a text that Text prints. ok is false for other texts.
func ParseBody(text string, operands []string) (b Body, ok bool) {
	names := slices.Clone(operands)
	for text != "" {
		head, rest, closed := strings.Cut(text, ")")
		name, call, named := strings.Cut(head, " = ")
		fn, list, called := strings.Cut(call, "(")
		if !closed || !named || !called {
			return nil, false
		}
		s := Step{Name: name, Fn: fn}
		s.Name, s.Also = strings.CutPrefix(name, "also ")
		for i, arg := range strings.Split(list, ", ") {
			at := slices.Index(names, arg)
			if at < 0 && i == 0 {
				s.Fn = fn + "(" + arg + ")"
				continue
			}
			s.Args = append(s.Args, at)
		}
		if slices.Contains(s.Args, -1) || !s.Known() {
			return nil, false
		}
		b, names = append(b, s), append(names, s.Name)
		if text = rest; text != "" {
			if text, ok = strings.CutPrefix(rest, ", "); !ok {
				return nil, false
			}
		}
	}
	return b, len(b) > 0
}
