package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/hirgen/hirgen/internal/tools/recall"
)

var (
	ring = flag.Int64("ring", 256, "most ranks of the ring whose proof is timed; 0: nothing is timed. 1024 take about a minute and 5 GB")
	only = flag.Bool("only-times", false, "print nothing but times")
)

// times prints how long the proofs of all examples take, and of the ring on increasing numbers of ranks. It reports
// whether a proof fails, or the proof of an example exceeds its time limit. With -only-times, it ends the process. With
// -ring 0, it prints nothing.
func times() (slow bool) {
	if *ring > 0 {
		list, err := recall.TimeRing(".", *ring) // first, because PrintRing prints the peak memory of the process
		if err == nil {
			slow = !recall.PrintRing(os.Stdout, list)
			fmt.Println()
			list, err = recall.TimeExamples(".")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		slow = !recall.PrintExamples(os.Stdout, list) || slow
		fmt.Println()
	}
	if *only && slow {
		os.Exit(1)
	}
	if *only {
		os.Exit(0)
	}
	return slow
}
