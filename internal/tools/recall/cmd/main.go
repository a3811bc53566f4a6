// Command recall prints how long proofs take, and how many wrong programs the checkers reject; see
// docs/verification.md. Run it in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hirgen/hirgen/internal/tools/recall"
)

func main() {
	perKind := flag.Int("per-kind", 2, "mutants of each kind of each program")
	perFault := flag.Int("per-fault", 1, "programs of each mistake in the lowering, of each right program")
	seed := flag.Uint64("seed", 1, "what picks them")
	orders := flag.Uint64("orders", 20, "orders of execution in which each is run")
	device := flag.Int("device", 0, "mutants that the CPU device judges, too")
	dir := flag.String("dir", "", "where their folders are built, and stay; empty: nowhere that lasts")
	flag.Parse()
	slow := times()
	subjects, err := recall.Examples(".")
	fail(err)
	o := recall.Options{PerKind: *perKind, Seed: *seed, Orders: *orders, Check: recall.All(recall.Prove, recall.Values)}
	survivors := mutants(subjects, o) + faults(subjects, o, *perFault) + onDevice(subjects, o, *device, *dir)
	if survivors > 0 || slow {
		os.Exit(1)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// mutants checks mutated programs of calls. Like faults and onDevice, it returns the number of survivors.
func mutants(subjects []*recall.Subject, o recall.Options) int {
	start := time.Now()
	results := recall.Run(subjects, o)
	fmt.Printf("%d programs, %d mutants, seed %d, up to %d orders of each and one serialized, %.0f s\n\n", len(subjects), len(results), o.Seed,
		o.Orders, time.Since(start).Seconds())
	recall.Print(os.Stdout, recall.Kinds(), results)
	return survivors(results)
}

// faults checks the programs of a lowering with injected mistakes.
func faults(subjects []*recall.Subject, o recall.Options, perFault int) int {
	if perFault == 0 {
		return 0
	}
	start := time.Now()
	o.PerKind = perFault
	results := recall.RunFaults(subjects, o)
	fmt.Printf("\nmistakes in the lowering: %d programs, %.0f s\n\n", len(results), time.Since(start).Seconds())
	recall.Print(os.Stdout, recall.Faults(), results)
	return survivors(results)
}

func survivors(results []*recall.Result) int {
	n := 0
	for _, r := range results {
		if r.Survives() {
			n++
		}
	}
	return n
}

// onDevice runs some of the mutants on the CPU device.
func onDevice(subjects []*recall.Subject, o recall.Options, n int, dir string) int {
	if n == 0 {
		return 0
	}
	if dir == "" {
		scratch, err := os.MkdirTemp("", "hirgen-recall-")
		fail(err)
		defer os.RemoveAll(scratch)
		dir = scratch
	}
	start := time.Now()
	device := recall.Device{Dir: dir, Orders: 4, Each: func(r *recall.DeviceResult) {
		fmt.Fprintf(os.Stderr, "%s: %s: interpreter: %s, device: %s\n", r.Subject, r.Kind, r.Effect, r.Device)
	}}
	results, err := device.Compare(subjects, n, o)
	fail(err)
	fmt.Printf("\non the CPU device: %d mutants, up to %d orders of each, %.0f s\n\n", len(results), device.Orders,
		time.Since(start).Seconds())
	recall.PrintDevice(os.Stdout, results)
	left := 0
	for _, r := range results {
		if r.Survives() {
			left++
		}
	}
	return left
}
