package model_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
)

// format formats a spec twice, and checks that the second time changes nothing.
func format(t *testing.T, name, src string) string {
	t.Helper()
	once, err := model.Format(name, []byte(src))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	twice, err := model.Format(name, once)
	if err != nil {
		t.Fatalf("%s, formatted: %v", name, err)
	}
	if diff := cmp.Diff(string(once), string(twice)); diff != "" {
		t.Errorf("%s: formatting again changes it: %s", name, diff)
	}
	return string(once)
}

// TestFormatKeepsEverySpec checks that each spec has the same meaning and the same comments after Format.
func TestFormatKeepsEverySpec(t *testing.T) {
	for _, pattern := range []string{"../testdata/specs/*/spec.yaml", "../testdata/grids/*.yaml", "../testdata/layers/*.yaml",
		"../internal/e2e/testdata/*.yaml", "../internal/e2e/testdata/moves/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{file: string(src), file + ", outdented": disorder(string(src))} {
				formatted := format(t, name, text)
				if diff := cmp.Diff(said(t, string(src)), said(t, formatted)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
				if diff := cmp.Diff(comments(string(src)), comments(formatted)); diff != "" {
					t.Errorf("%s: comments: %s", name, diff)
				}
			}
		}
	}
}

// said returns the content of a spec without positions.
func said(t *testing.T, src string) string {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(src), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	var b strings.Builder
	fmt.Fprintln(&b, p.Name, p.Doc)
	for _, param := range p.Params {
		fmt.Fprintln(&b, param.Name, param.Text, param.Value)
	}
	for _, tensor := range p.Tensors {
		fmt.Fprintln(&b, tensor.Name, tensor.DType, tensor.Axes, tensor.Mesh.Name, tensor.Annotated)
	}
	for _, op := range p.Written {
		fmt.Fprint(&b, op.Fn, op.Attrs)
		for _, operand := range slices.Concat(op.Out, op.In) {
			fmt.Fprint(&b, " ", operand.Name)
		}
		fmt.Fprintln(&b)
	}
	for _, choice := range p.Schedule.Choices {
		fmt.Fprintln(&b, choice)
	}
	for _, out := range p.Outputs {
		fmt.Fprintln(&b, out.Name)
	}
	return b.String()
}

// disorder returns a spec with the same content and other indentation, spaces and line breaks.
func disorder(src string) string {
	var out strings.Builder
	for line := range strings.Lines(src) {
		code := strings.TrimLeft(line, " ")
		out.WriteString(strings.Repeat(" ", 2*(len(line)-len(code))))
		if strings.HasPrefix(code, "- ") && strings.Contains(code, "= ") && !strings.Contains(code, "#") {
			code = strings.Replace(strings.ReplaceAll(code, ", ", " ,"), "(", "( ", 1)
		}
		out.WriteString(strings.Replace(code, " # ", "    # ", 1))
		if strings.TrimSpace(line) == "" {
			out.WriteString("\r\n \n")
		}
	}
	return out.String()
}

// comments returns the comments of a spec, in order.
func comments(src string) []string {
	var found []string
	for line := range strings.Lines(src) {
		if _, comment, has := strings.Cut(" "+line, " #"); has {
			found = append(found, strings.TrimSpace(comment))
		}
	}
	return found
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{
			"indentation and blank lines", "\n\nhirgen:   1\n\n\n\nname: p\ntensors:\n    A:   [ M,K ]\n    Bias: [K]   \nops:\n- C = matmul( " +
				"A,B )\n\n",
			"hirgen: 1\n\nname: p\ntensors:\n  A:    [M, K]\n  Bias: [K]\nops:\n  - C = matmul(A, B)\n",
		},
		{
			"comments", "# head\n\n# more\nparams: # of params\n    # inner\n    D: 4 # d\n    SS: 16   # s\n    # after\n# next\nops:\n  - " +
				"C=relu(A) # c\n  - \"D = relu( C )\"\n#end",
			"# head\n\n# more\nparams:  # of params\n  # inner\n  D: 4    # d\n  SS: 16  # s\n  # after\n# next\nops:\n  - C = relu(A)  # c\n  - " +
				"\"D = relu( C )\"\n#end\n",
		},
		{
			"comments that stand in a column", "params:\n  D: 4        # d\n  S: 16       # s\n",
			"params:\n  D: 4        # d\n  S: 16       # s\n",
		},
		{
			"maps in lists", "ops:\n   -   out: B\n       op: permute\n       in: [A]\n       perm:\n       - 1\n       - 0\n   - {out: C,op: " +
				"relu,in: [B]}\n",
			"ops:\n  - out: B\n    op: permute\n    in: [A]\n    perm:\n      - 1\n      - 0\n  - {out: C, op: relu, in: [B]}\n",
		},
		{
			"values of several lines", "doc: |\n     one\n      # two\n\n     three\ntensors:\n    A: [M, # rows\n        K]  # columns\n    B: " +
				"{axes: [K], dtype: 'fp32'}\n",
			"doc: |\n     one\n      # two\n\n     three\ntensors:\n  A: [M, # rows\n      K]  # columns\n  B: {axes: [K], dtype: 'fp32'}\n",
		},
		{"one flow map", "{hirgen: 1,name: p,ops: [\"B = relu(A)\"]}", "{hirgen: 1, name: p, ops: [\"B = relu(A)\"]}\n"},
		{"a document mark", "---\nname:  p\n", "---\nname: p\n"},
		{"quoted keys", "params:\n  \"D\":   4\n  'E' : \"a # b\" # c\n", "params:\n  \"D\": 4\n  'E': \"a # b\"  # c\n"},
		{"attributes", "ops:\n  - Q , K=split( A , axis = -1 , sizes =[ M,N ] )\n", "ops:\n  - Q, K = split(A, axis=-1, sizes=[M, N])\n"},
	} {
		if diff := cmp.Diff(c.want, format(t, c.name, c.src)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestFormatReportsWhatItCannotRead checks that Format reports invalid YAML as the loader does.
func TestFormatReportsWhatItCannotRead(t *testing.T) {
	_, err := model.Format("folder/spec.yaml", []byte("ops: [1,\n"))
	if errs, ok := diag.Diagnostics(err); !ok || errs.Items[0].Pos.File != "folder/spec.yaml" {
		t.Errorf("%v", err)
	}
}

// FuzzFormat checks that formatting a formatted spec succeeds and changes nothing.
func FuzzFormat(f *testing.F) {
	f.Add("hirgen: 1\nname: p # c\nops:\n- A = relu(B)\n")
	f.Add("a: [1, {b: 'c'}] # d\n\n\n- x")
	f.Fuzz(func(t *testing.T, src string) {
		once, err := model.Format("spec.yaml", []byte(src))
		if err != nil {
			return
		}
		twice, err := model.Format("spec.yaml", once)
		if err != nil || !bytes.Equal(twice, once) {
			t.Errorf("%q, then %q, %v", once, twice, err)
		}
	})
}
