package pipeline_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestRefusalsNameWhatCannotBe is property 2: every refusal is a diagnostic at a position of the spec. It names the
// schedule field with the impossible choice, or the tensor or operation that cannot be lowered. soak.Examine checks that
// only impossible specs are refused, and that a lowering fails with no other error.
func TestRefusalsNameWhatCannotBe(t *testing.T) {
	refusals := 0
	holds(t, func(s *subject) error {
		if s.refused == nil {
			return nil
		}
		refusals++
		var list *diag.Errors
		if !errors.As(s.refused, &list) || len(list.Items) == 0 {
			return fmt.Errorf("no diagnostic: %w", s.refused)
		}
		for _, d := range list.Items {
			if !d.Pos.IsValid() || d.Pos.Line > strings.Count(s.text, "\n") {
				return fmt.Errorf("no place: %s", d.Message)
			}
			if !namesField(d.Message) && !namesPart(s, d.Message) {
				return fmt.Errorf("it names nothing of the spec: %s", d.Message)
			}
		}
		return nil
	})
	if refusals == 0 {
		t.Error("no spec was refused")
	}
}

var fieldPath = regexp.MustCompile(`^schedule\.(?:\w+\.)?(\w+)(:|$)`)

func namesField(message string) bool {
	match := fieldPath.FindStringSubmatch(message)
	if match == nil {
		return false
	}
	_, known := schedule.Named(match[1])
	return known
}

// namesPart reports whether a message names a tensor or an operation of the spec.
func namesPart(s *subject, message string) bool {
	for _, t := range s.pipeline.Tensors {
		if regexp.MustCompile(`\b` + t.Name + `\b`).MatchString(message) {
			return true
		}
	}
	for _, op := range s.pipeline.Ops {
		if strings.Contains(message, string(op.Kind)) {
			return true
		}
	}
	return false
}

// TestNamesDecideNothing is the second half of property 6: the order of issue, the streams and the waits stay the same if
// the tensors of a spec get other names, which sort in the opposite order.
func TestNamesDecideNothing(t *testing.T) {
	holds(t, func(s *subject) error {
		if s.spec == nil || !s.accepted() {
			return nil
		}
		other, err := newSubject(renamed(*s.spec).Text())
		switch {
		case err != nil:
			return err
		case other == nil || other.refused != nil:
			return errors.New("with other names it is refused")
		}
		for i, f := range s.forms {
			if diff := cmp.Diff(skeleton(f.program.Body), skeleton(other.forms[i].program.Body)); diff != "" {
				return fmt.Errorf("with other names the program is another one:\n%s", diff)
			}
		}
		return nil
	})
}

// renamed returns a copy of a spec whose tensors have other names: later tensors get names that sort earlier.
func renamed(s soak.Spec) soak.Spec {
	s = s.Clone()
	names := map[string]string{}
	rename := func(name *string) {
		if names[*name] == "" {
			names[*name] = fmt.Sprintf("Z%d", 999-len(names))
		}
		*name = names[*name]
	}
	for i := range s.Tensors {
		rename(&s.Tensors[i].Name)
	}
	for i := range s.Ops {
		for j := range s.Ops[i].In {
			rename(&s.Ops[i].In[j])
		}
		rename(&s.Ops[i].Out)
		for j := range s.Ops[i].More {
			rename(&s.Ops[i].More[j])
		}
	}
	for i := range s.Outputs {
		rename(&s.Outputs[i])
	}
	for i, c := range s.Schedule {
		if of, field, found := strings.Cut(c.Path, "."); found && names[of] != "" {
			s.Schedule[i].Path = schedule.Path(names[of], field)
		}
	}
	return s
}

// skeleton lists statements without names: their operations, their lines in the spec, and their streams.
func skeleton(body []hostir.Stmt) []string {
	var lines []string
	for s := range hostir.All(body) {
		line := fmt.Sprintf("%s @%d on %s", hostir.Op(s), s.Meta().Pos.Line, s.Meta().On)
		switch s := s.(type) {
		case *hostir.Synchronize:
			line += " " + s.Stream.String()
		case *hostir.Communication:
			line += " " + string(s.Type)
		case *hostir.For:
			line += fmt.Sprintf(" %d..%d of %d", s.First, s.Count.Size, len(s.Body))
		}
		lines = append(lines, line)
	}
	return lines
}
