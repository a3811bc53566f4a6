package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// String returns the name of the scope in reports.
func (s Scope) String() string {
	if s == Communication {
		return "communication"
	}
	return "program"
}

// MarshalJSON writes the description of a field, without members that do not apply to the field.
func (f Field) MarshalJSON() ([]byte, error) {
	report := Object{{"name", f.Name}, {"scope", f.Scope.String()}, {"doc", Plain(f.Doc)}, {"default", f.Typed(f.Default)}}
	if f.UnderReference != "" {
		report = append(report, Member{"default_under_reference", f.Typed(f.UnderReference)})
	}
	if f.Values != nil {
		values := []Object{}
		for _, v := range f.Values {
			values = append(values, v.report(f))
		}
		report = append(report, Member{"values", values})
	}
	if f.IsNumber() {
		report = append(report, Member{"low", f.Low}, Member{"high", f.High})
	}
	if f.Pipelines != nil {
		report = append(report, Member{"pipelines", f.Pipelines})
	}
	if f.Reference != "" {
		report = append(report, Member{"under_reference_alone", f.Reference})
	}
	return json.Marshal(append(report, Member{"mesh_axis", f.MeshAxis}, Member{"structural", f.Structural}))
}

func (v Value) report(f Field) Object {
	report := Object{{"value", f.Typed(v.Name)}, {"doc", Plain(v.Doc)}}
	if v.Reference != "" {
		report = append(report, Member{"under_reference_alone", v.Reference})
	}
	return report
}

// Describe prints fields as text: for each its values, its default or "open", its meaning, and the meaning of its values.
func Describe(w io.Writer, fields []Field) error {
	var b strings.Builder
	for i, f := range fields {
		if i == 0 || f.Scope != fields[i-1].Scope {
			fmt.Fprintf(&b, "Fields of %s:\n\n", map[Scope]string{Program: "the program", Communication: "communications"}[f.Scope])
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n    %s\n", Path(map[Scope]string{Communication: All}[f.Scope], f.Name),
			strings.ReplaceAll(Plain(f.valueCell()), ", ", " | "), cmp.Or(f.Default, "open"), Plain(f.Doc))
		if f.Reference != "" {
			fmt.Fprintf(&b, "    with preset: reference alone: %s\n", f.Reference)
		}
		for _, v := range f.Values {
			if v.Doc != "" {
				fmt.Fprintf(&b, "      %-12s %s\n", v.Name, Plain(v.Doc))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}
