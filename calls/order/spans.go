package order

import "github.com/hirgen/hirgen/calls"

// Spans returns the labels of the first and of the last statement with a label that uses each buffer, in the order of the text.
// Accesses by peers are between the flags that this rank writes and waits for.
func Spans(p *calls.Program) map[string][2]string {
	roots, spans := rootsOf(p.Body), map[string][2]string{}
	for s := range calls.All(p.Body) {
		label, used := s.Meta().Label, owned(p, s)
		if label == "" {
			continue
		}
		(&calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
			used = append(append(used, at.Base), roots[at.Base]...)
			return at
		}}).Rewrite(s)
		for _, name := range used {
			first := spans[name][0]
			if first == "" {
				first = label
			}
			spans[name] = [2]string{first, label}
		}
	}
	return spans
}
