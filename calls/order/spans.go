package order

import "github.com/hirgen/hirgen/calls"

// Spans returns, for each buffer, the labels of the first and of the last labelled statement that uses it, in the order
// of the text. Statements that write ready flags or wait for done flags of the buffer's share count as uses, because peers
// access the buffer only between them.
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
