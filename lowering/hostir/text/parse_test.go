package text

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
)

func TestParseReadsWhatPrintWrites(t *testing.T) {
	for seed := range uint64(500) {
		p := generate(seed)
		text := Print(p)
		q, err := Parse("p.hir", text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("seed %d: the program changed on its way through text\n%s\nread back as\n%s", seed, text, Print(q))
		}
	}
}

func TestGeneratorMakesEveryStatement(t *testing.T) {
	made := map[string]bool{}
	for seed := range uint64(50) {
		for s := range hostir.All(generate(seed).Body) {
			made[hostir.Op(s)] = true
		}
	}
	if want := 30; len(made) != want {
		t.Errorf("the generator makes %d kinds of statement, want %d: %v", len(made), want, made)
	}
}

const header = `program p from "spec.yaml"
param S = 4
mesh world: x = 2, ranks 0..1
tensor A: bf16 [S, 8], mesh world, input
tensor C: bf16 [S, 8], mesh world, output

`

func TestParseErrorsPointAtTheMistake(t *testing.T) {
	cases := []struct{ body, want string }{
		{"C = Set(B)", `p.hir:7:9: error HG110: tensor "B" is not declared`},
		{"C = Sett(A)", `p.hir:7:5: error HG110: "Sett" is no statement`},
		{"C = Set(A", `p.hir:7:10: error HG110: the end of the line stands where ")" should`},
		{"  C = Set(A)", `p.hir:7:3: error HG110: the indentation fits no open For or If`},
		{"For s in T:", `p.hir:7:10: error HG110: "T" has no value`},
		{"For s in S", `p.hir:7:11: error HG110: the end of the line stands where ":" should`},
		{"Else:", `p.hir:7:1: error HG110: Else stands after no If`},
		{"C = Select(A, axis one, index 0)", `p.hir:7:20: error HG110: "one," stands where a whole number should`},
		{"C = Select(A, axis 0, index (s)", `p.hir:7:32: error HG110: the end of the line stands where ")" should`},
		{"C = Set(A) @0:1", `p.hir:7:13: error HG110: lines are counted from 1`},
		{"C = Set(A) and more", `p.hir:7:12: error HG110: "and" is left over at the end of the line`},
		{"h = Communication(Allgatter, mesh world axis x, in A, out C)", `p.hir:7:19: error HG110: "Allgatter" is no type of communication`},
		{"h = Communication(Allgather, mesh moon axis x, in A, out C)", `p.hir:7:35: error HG110: there is no mesh "moon"`},
		{"h = P2PCommunication(push, buffer A, peer 1)", `p.hir:7:22: error HG110: "push" is neither send nor recv`},
		{"C = Select(A, axis 0, index 0)", `p.hir:7:1: error HG110: Select makes C a view, but its role is output`},
		{"side = GetCurrentStream", `p.hir:7:8: error HG110: the stream that a program is called with is caller`},
		{"SetCurrentStream(side)", `p.hir:7:18: error HG110: there is no stream "side": streams are caller, copies and worker with an index`},
		{"If rank == 0:\n  SetCurrentStream(worker 0)\nC = Set(A)",
			`p.hir:9:1: error HG110: the stream that Set runs on depends on the path taken`},
		{"For s in S:\n  C = Set(A)\n  SetCurrentStream(worker s)",
			`p.hir:8:3: error HG110: the stream that Set runs on depends on the path taken`},
		{"h = P2PCommunication(send, buffer A, peer 1, UCX)", `p.hir:7:46: error HG110: "UCX" is no backend`},
	}
	cases = append(cases, []struct{ body, want string }{
		{"C = Set(A)\n\nfallback:\n", `p.hir:10:1: error HG110: the text has no line "program NAME from FILE"`},
		{"C = Set(A)\n\nfallback:\nprogram p from \"s\"\n\nC = Set(A)", `p.hir:12:1: error HG110: tensor "C" is not declared`},
	}...)
	for _, c := range cases {
		_, err := Parse("p.hir", header+c.body+"\n")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestParseErrorsInTheHeader(t *testing.T) {
	cases := []struct{ text, want string }{
		{"", `no line "program NAME from FILE"`},
		{"program p from spec", "1:16: error HG110: \"spec\" stands where a quoted file name should"},
		{"program p from \"s\"\nparam S = 1\nparam S = 2", "3:7: error HG110: parameter S is there twice"},
		{"program p from \"s\"\nmesh w: x = 3, ranks 0..1", "mesh w has 2 ranks, and its axes hold 3"},
		{"program p from \"s\"\nmesh w: x = 3, ranks 5..1", "2:22: error HG110: 5..1 is no range of ranks"},
		{"program p from \"s\"\nchoices colour red", `2:9: error HG110: "colour" is no choice`},
		{"program p from \"s\"\ntensor A: fp8 [2]", `2:11: error HG110: "fp8" is no element type`},
		{"program p from \"s\"\ntensor A: bf16 [2\nstream 4", `2:18: error HG110: the end of the line stands where "," should`},
		{"program p from \"s\"\ntensor A: bf16 [9/2], temp", `2:17: error HG110: 9 / 2 is 9 / 2, which is not a whole number`},
		{"program p from \"s\"\nreference A = permute(perm [1, 0]), shape [2, 2], bf16", `2:23: error HG110: "perm" is no operand`},
		{"program p from \"s\"\ntensor A: bf16 [2], temp\ntensor A: bf16 [2], temp", `3:8: error HG110: tensor A is declared twice`},
	}
	for _, c := range cases {
		_, err := Parse("p.hir", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestParseReportsEveryWrongLine(t *testing.T) {
	_, err := Parse("p.hir", header+"C = Set(B)\nC = Set(A)\nC = Set(D)\n")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("want two errors, got %v", err)
	}
}

// maxFuzzed limits the bytes of a fuzzed text. A few lines suffice to show a bug, and a long text takes
// as much time as thousands of short ones.
const maxFuzzed = 1200

// FuzzParse checks that no text crashes the parser, and that the printed form of an accepted text parses and
// prints to the same text. Header and body are separate arguments, so that the fuzzer mutates them
// separately.
func FuzzParse(f *testing.F) {
	for _, text := range smallPrograms() {
		head, body, _ := strings.Cut(text, "\n\n")
		f.Add(head, body)
	}
	f.Fuzz(func(t *testing.T, head, body string) {
		if len(head)+len(body) > maxFuzzed {
			return
		}
		if err := readsBack(head + "\n\n" + body); err != nil {
			t.Fatal(err)
		}
	})
}

// readsBack returns an error if a text parses, but its printed form does not parse and print to the same text.
func readsBack(text string) error {
	p, err := Parse("p.hir", text)
	if err != nil {
		return nil //nolint:nilerr // what does not parse has nothing to read back
	}
	printed := Print(p)
	q, err := Parse("p.hir", printed)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, printed)
	}
	if again := Print(q); again != printed {
		return fmt.Errorf("printed\n%s\nread back as\n%s", printed, again)
	}
	return nil
}

// smallPrograms returns a text with a fallback variant, and for each of makers a text with one statement, which may
// contain others. The headers differ.
func smallPrograms() []string {
	texts := []string{header + "C = Set(A)\n\nfallback:\n" + header + "C = Set(A)\n"}
	for i, statement := range makers {
		g := &generator{Rand: rand.New(rand.NewPCG(uint64(i), 7)), p: generate(uint64(4*i + 1))}
		g.p.Tensors = g.p.Tensors[:2]
		g.p.Reference = g.p.Reference[:min(1, len(g.p.Reference))]
		s := statement(g, 0)
		for _, body := range hostir.Bodies(s) {
			*body = (*body)[:min(1, len(*body))]
		}
		g.p.Body = []hostir.Stmt{s}
		texts = append(texts, Print(g.p))
	}
	return texts
}

// TestSmallProgramsReadBack checks that the parser accepts the seed texts of FuzzParse, and that they are
// within maxFuzzed.
func TestSmallProgramsReadBack(t *testing.T) {
	for _, text := range smallPrograms() {
		if _, err := Parse("p.hir", text); err != nil || len(text) > maxFuzzed {
			t.Errorf("%d bytes, %v:\n%s", len(text), err, text)
		}
		if err := readsBack(text); err != nil {
			t.Error(err)
		}
	}
}
