package schedule

import (
	"bytes"
	"encoding/json"
	"slices"
)

// An Object is a JSON object whose keys keep their order.
type Object []Member

// A Member is a key of an Object with its value.
type Member struct {
	Key   string
	Value any
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		for _, part := range []any{m.Key, m.Value} {
			text, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			out.Write(text)
			out.WriteByte(':')
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Report returns the value of every field of the program, chosen or default. Under "all" it has every field of
// communications, and under the name of a communication the choices for that communication. Numbers and booleans are
// JSON numbers and booleans, and an open field is nil.
func (s *Schedule) Report() Object {
	var report, all Object
	for _, f := range Fields {
		if f.Scope == Program {
			report = append(report, Member{f.Name, f.Typed(s.Get(f.Name))})
		} else {
			all = append(all, Member{f.Name, f.Typed(s.Of("", f.Name))})
		}
	}
	report = append(report, Member{All, all})
	seen := []string{"", All}
	for _, of := range s.Choices {
		if slices.Contains(seen, of.Of) {
			continue
		}
		seen = append(seen, of.Of)
		var own Object
		for _, c := range s.Choices {
			if f, _ := Named(c.Field); c.Of == of.Of {
				own = append(own, Member{c.Field, f.Typed(c.Value)})
			}
		}
		report = append(report, Member{of.Of, own})
	}
	return report
}

// Typed returns a value of the field as a JSON value: nil if the field is open.
func (f Field) Typed(value string) any {
	switch {
	case value == "":
		return nil
	case f.IsNumber() && f.value(value).Name == "":
		return Number(value)
	case value == True || value == False:
		return value == True
	}
	return value
}
