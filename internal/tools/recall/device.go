package recall

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/prove/mutate"
)

// Effects that only the CPU device shows. It shares None, Wrong and Hangs with the interpreter.
const (
	NotBuilt Effect = "does not compile" // or cannot be emitted
	Fails    Effect = "fails"            // a call fails, or a rank crashes
)

// A Device builds mutants for the CPU device and runs them. It is a second oracle: it covers the whole path from calls
// to a running program, with threads in place of tasks.
type Device struct {
	Dir    string              // folder for emitted folders and the compiled runtime
	Flags  string              // flags of the compiler; empty: flags that compile quickly
	Orders int64               // number of orders of execution for each program
	Each   func(*DeviceResult) // called after each mutant, if set
}

// deviceFlags are compiler flags that compile quickly and check indices.
const deviceFlags = "-O0 -D_GLIBCXX_ASSERTIONS"

// deviceRun is the time limit of a program. The program's own waits have a shorter limit.
const deviceRun = time.Minute

// checking are arguments that run a program several times with different inputs and compare each result. A wait of ten
// seconds counts as stuck.
var checking = []string{"--checks", "4", "--warmup", "1", "--iters", "1", "--repeats", "1", "--timeout", "10"}

// Exit codes of emitted programs that Judge distinguishes.
const (
	exitRight = 0
	exitWrong = 1
	exitStuck = 6
)

// DeviceResult is a mutant with the device's verdict.
type DeviceResult struct {
	Result
	Device    Effect
	DeviceWhy string
}

// Agree reports whether both oracles see an effect, or neither does.
func (r *DeviceResult) Agree() bool { return (r.Effect == None) == (r.Device == None) }

// Survives reports whether the checker accepts a mutant that one of the oracles shows to be wrong.
func (r *DeviceResult) Survives() bool {
	return r.Rejected == nil && (r.Effect != None || r.Device != None)
}

// perFolder is the most mutants of a subject that are built, one after the other in one folder. They differ only in the
// source of the program.
const perFolder = 6

// Compare makes mutants of subjects in an order that the seed picks. The device, the interpreter and the checker judge
// each mutant. mutants is the most that they judge. Compare skips mutants that emit refuses because no order of
// execution can make them right, such as a wait without a record, and programs with a fallback variant. It returns an
// error if the device judges a correct program to be wrong, or cannot run one.
func (d *Device) Compare(subjects []*Subject, mutants int, o Options) ([]*DeviceResult, error) {
	random := rand.New(rand.NewPCG(o.Seed, 11)) //nolint:gosec // no secret depends on it
	var list []*DeviceResult
	for _, i := range random.Perm(len(subjects)) {
		s := subjects[i]
		if s.host.Fallback != nil || s.variant > 0 {
			continue // the runtime chooses between two variants
		}
		if len(list) >= mutants {
			break
		}
		if effect, why := d.Judge(s, s.Program); effect != None {
			return nil, fmt.Errorf("%s, as it stands: %s: %s", s.Name, effect, why)
		}
		sample := slices.DeleteFunc(mutate.Sample(s.Program, 1, o.Seed), func(m *mutate.Mutant) bool {
			return verify.Program(m.Program) != nil // emit refuses it even without a proof
		})
		random.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
		for _, m := range sample[:min(perFolder, len(sample), mutants-len(list))] {
			r := &DeviceResult{Result: Result{Subject: s.Name, Kind: m.Kind, Site: m.Site, Pos: m.Pos, What: m.What}}
			r.Device, r.DeviceWhy = d.Judge(s, m.Program)
			r.Effect, r.Why = s.Judge(m.Program, o.Orders)
			r.Rejected = check(o.Check, s, m.Program)
			list = append(list, r)
			if d.Each != nil {
				d.Each(r)
			}
		}
	}
	return list, nil
}

// Judge emits a program in place of a subject's, builds it, and runs it in several orders until one shows an effect.
// why describes the effect.
func (d *Device) Judge(s *Subject, p *calls.Program) (effect Effect, why string) {
	program, err := d.build(s, p)
	if err != nil {
		if failure := (*launch.EnvironmentError)(nil); errors.As(err, &failure) {
			return NotBuilt, err.Error() + "\n" + failure.Output
		}
		return NotBuilt, err.Error()
	}
	for order := range d.Orders {
		if effect, why = d.run(program, len(s.oracle.Inputs), order); effect != None {
			return effect, why
		}
	}
	return None, ""
}

// build emits the program as hirgen emit --no-verify does, without a proof, and compiles it.
func (d *Device) build(s *Subject, p *calls.Program) (string, error) {
	lowered, err := lowering.Calls(s.host, lowering.Options{})
	if err == nil {
		err = lowered.With([]*calls.Program{p})
	}
	if err != nil {
		return "", err
	}
	files, err := emit.Render(lowered, emit.Options{})
	if err != nil {
		return "", err
	}
	folder := filepath.Join(d.Dir, strings.NewReplacer(", ", "-", ": ", "-").Replace(s.Name))
	if _, err := emit.Write(folder, files, emit.WriteOptions{Force: true}); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cache := []string{"HIRGEN_CACHE:PATH=" + filepath.Join(d.Dir, "cache"), "CMAKE_CXX_FLAGS_RELEASE=" + cmp.Or(d.Flags, deviceFlags)}
	return launch.Build(ctx, launch.BuildOptions{Dir: folder, Device: launch.CPU, Cache: cache})
}

func (d *Device) run(program string, ranks int, order int64) (effect Effect, why string) {
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), deviceRun)
	defer cancel()
	exit, err := launch.Run(ctx, launch.Options{Program: program, N: ranks, Seed: order, Args: checking, Stdout: &stdout, Stderr: &stderr})
	why = fmt.Sprintf("order %d: exit code %d\n%s\n%s", order, exit, stdout.String(), stderr.String())
	switch {
	case ctx.Err() != nil || err == nil && exit == exitStuck:
		return Hangs, why
	case err != nil:
		return Fails, err.Error()
	case exit == exitRight:
		return None, ""
	case exit == exitWrong:
		return Wrong, why
	}
	return Fails, why
}
