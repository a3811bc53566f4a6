// Command soak searches for bugs of hirgen with random specs; see docs/soak.md. Run it in the root of the repository. A
// static binary also runs on machines without Go: CGO_ENABLED=0 go build -o soak ./internal/tools/soak/cmd
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/hirgen/hirgen/internal/tools/soak"
)

func main() {
	debug.SetGCPercent(1000) // the memory of a spec is short-lived: this doubles the number of specs per second
	seed := flag.Uint64("seed", 1, "what all specs are made of")
	seconds := flag.Int("seconds", 60, "how long to look")
	from := flag.Uint64("from", 0, "the number of the first spec: goes on where another search ended")
	only := flag.Int64("only", -1, "the number of one spec, to repeat it")
	findings := flag.Int("findings", 1, "distinct findings to collect before the end")
	whole := flag.Bool("whole", false, "do not make findings small")
	show := flag.Bool("show", false, "print the specs and what came of them; with -only")
	dir := flag.String("dir", filepath.Join("build", "soak"), "folder for programs that are built; empty: none are")
	every := flag.Uint64("every", 20, "one in so many specs is built, if it is accepted")
	flag.Parse()
	examples, err := soak.Examples("testdata/specs/*/spec.yaml", "testdata/grids/*.yaml", "internal/e2e/testdata/moves/*.yaml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	o := soak.Options{
		Seed: *seed, From: *from, Seconds: *seconds, Findings: *findings, Whole: *whole, Examples: examples, Log: os.Stdout,
		Repeat: fmt.Sprintf("make soak SEED=%d ONLY=%%d", *seed),
	}
	if *dir != "" {
		path, err := filepath.Abs(*dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		o.Yard, o.Every = &soak.Yard{Dir: path, Orders: 3}, *every
	}
	if *only >= 0 {
		number := uint64(*only)
		o.Only = &number
		if *show {
			fmt.Print(o.Make(number).Text())
		}
	}
	fmt.Printf("soak: seed %d, %d s\n", *seed, *seconds)
	counts, found := soak.Run(o)
	counts.Print(os.Stdout)
	if len(found) > 0 {
		fmt.Printf("%d findings\n", len(found))
		os.Exit(1)
	}
}
