package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// packSize is the most specs in one program. They share the cost of compiling headers.
const packSize = 16

// flags are the compiler options of programs: they compile fast and check the indices of containers.
const flags = "-O0 -D_GLIBCXX_ASSERTIONS"

// runTime bounds one run of a program, whose own waits have a shorter bound.
const runTime = 90 * time.Second

// checkedCalls is the number of calls that a program checks. The host does not wait between them, and each call has
// other inputs.
const checkedCalls = 4

var checking = []string{"--checks", strconv.Itoa(checkedCalls), "--warmup", "1", "--iters", "1", "--repeats", "1", "--timeout", "30"}

// A Yard builds programs on the CPU device and runs them.
type Yard struct {
	Dir    string // folder of the emitted programs and of the compiled runtime, which the next search reuses
	Orders int64  // number of orders of execution for each program
	number int    // number of the builder that uses it
}

// builder returns the yard with folders for the builder of this number. Builders share the compiled runtime.
func (y *Yard) builder(number int) *Yard {
	if y == nil {
		return nil
	}
	return &Yard{Dir: y.Dir, Orders: y.Orders, number: number}
}

// Try builds specs as one program, runs each and returns the failures.
func (y *Yard) Try(pack []accepted) []*Finding {
	// A pack has the runtime of its first program, and that runtime contains the UCC part only if this program calls
	// UCC.
	if at := slices.IndexFunc(pack, callsUCC); at > 0 {
		pack[0], pack[at] = pack[at], pack[0]
	}
	specs := lists.Map(pack, func(one accepted) Spec { return one.spec })
	program, err := y.build("pack", specs)
	var findings []*Finding
	for i, one := range pack {
		var f *Finding
		switch {
		case err != nil && len(pack) == 1:
			f = y.failure(one.spec, NoBuild, err)
		case err != nil: // build each alone to find the cause
			f = y.Alone(one.spec)
		default:
			f = y.runs(program, i, one.spec, one.outcome.Program.Meshes[0].Size(), one.outcome.Program.Fallback != nil)
		}
		if f != nil {
			f.Number = one.number
			findings = append(findings, f)
		}
	}
	if failure := (*launch.EnvironmentError)(nil); errors.As(err, &failure) && len(findings) == 0 {
		findings = append(findings, y.failure(pack[0].spec, NoBuild, err)) // each builds alone, so joining them fails
	}
	return findings
}

// callsUCC reports whether a program calls UCC.
func callsUCC(one accepted) bool {
	return hostir.Any(one.outcome.Program.Body, func(s hostir.Stmt) bool {
		c, communicates := s.(*hostir.Communication)
		return communicates && c.Backend == hostir.UCC
	})
}

// Alone examines a spec, and builds and runs a program of it alone.
func (y *Yard) Alone(spec Spec) *Finding {
	outcome := Examine(spec)
	if outcome.Finding != nil || outcome.Program == nil {
		return outcome.Finding
	}
	program, err := y.build("alone", []Spec{spec})
	if err != nil {
		return y.failure(spec, NoBuild, err)
	}
	return y.runs(program, 0, spec, outcome.Program.Meshes[0].Size(), outcome.Program.Fallback != nil)
}

func (y *Yard) failure(spec Spec, kind Kind, err error) *Finding {
	f := &Finding{Spec: spec, Kind: kind, Detail: err.Error()}
	if failure := (*launch.EnvironmentError)(nil); errors.As(err, &failure) && failure.Output != "" {
		f.Detail = compilerError(failure.Output) + "\n" + failure.Output
	}
	return f
}

// build emits specs into one folder, builds them as one program and returns the path of the program.
func (y *Yard) build(folder string, specs []Spec) (string, error) {
	dir := filepath.Join(y.Dir, fmt.Sprintf("%s%d", folder, y.number))
	programs := make([][]emit.File, len(specs))
	for i, spec := range specs {
		spec.Name = packName(i)
		files, err := render(spec)
		if err != nil {
			return "", err
		}
		programs[i] = files
	}
	if err := buildAll(programs[0]); err != nil {
		return "", err
	}
	if _, err := emit.Write(dir, programs[0], emit.WriteOptions{Force: true}); err != nil {
		return "", err
	}
	if err := joinPrograms(dir, programs); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cache := []string{"HIRGEN_CACHE:PATH=" + filepath.Join(y.Dir, "cache"), "CMAKE_CXX_FLAGS_RELEASE=" + flags}
	return launch.Build(ctx, launch.BuildOptions{Dir: dir, Device: launch.CPU, Cache: cache})
}

func render(spec Spec) ([]emit.File, error) {
	p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
	if err != nil {
		return nil, err
	}
	program, err := lowering.Lower(p, lowering.Options{Verify: true})
	if err != nil {
		return nil, err
	}
	return emit.Render(program, emit.Options{})
}

// runs runs one program of a pack in several orders of execution, by each transport that it has.
func (y *Yard) runs(program string, i int, spec Spec, ranks int, anywhere bool) *Finding {
	transports := [][]string{nil}
	if anywhere {
		transports = [][]string{{"--transport", "ipc"}, {"--transport", "nccl"}}
	}
	for _, transport := range transports {
		for order := range y.Orders {
			var stdout, stderr bytes.Buffer
			args := append(append([]string{packName(i)}, checking...), transport...)
			ctx, cancel := context.WithTimeout(context.Background(), runTime)
			exit, err := launch.Run(ctx, launch.Options{
				Program: program, N: ranks, Seed: order, Args: args, Stdout: &stdout, Stderr: &stderr,
			})
			stuck := ctx.Err() != nil
			cancel()
			if err == nil && exit == 0 && !stuck {
				continue
			}
			return &Finding{Spec: spec, Kind: BadRun, Detail: fmt.Sprintf(
				"exit code %d of %d ranks %v, in order %d (stuck: %v, %v)\n%s\n%s", exit, ranks, transport, order, stuck, err, stdout.String(),
				stderr.String())}
		}
	}
	return nil
}
