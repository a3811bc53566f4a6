package lowering

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/shard"
)

// ChooseTransport makes two programs of one where the schedule leaves the transport to the machine:
// one over CUDA IPC, and the same over CUDA IPC within hosts and NCCL between them, for where not
// all ranks can share memory. All passes behind this one run on both. By measurements ranks put where they scatter what they summed, and
// get where they gather alone. Pipelines that exchange no slices take NCCL.
//
// Requires: what crosses ranks is a statement of its own.
// Establishes: every program has one transport.
//
//	before: choices pipeline p2p, transport auto, ...
//	after:  choices pipeline p2p, transport ipc-get, ...
//	        otherwise:
//	        choices pipeline p2p, transport ipc-get, elsewhere nccl, ...
func ChooseTransport(p *hostir.Program) error {
	if p.Choices.Transport == "auto" {
		p.Choices.Transport, p.Choices.Fallback = preferred(p), "nccl"
	}
	fallback := p.Choices.Fallback
	p.Choices.Fallback = ""
	if fallback == "" || p.Choices.Transport == fallback {
		return nil
	}
	other, err := text.Parse(p.File, text.Print(p))
	if err != nil {
		return fmt.Errorf("copying the program %s: %w", p.Name, err)
	}
	other.Choices.Elsewhere = fallback
	if other.Choices.Sums == "direct" {
		other.Choices.Sums = "" // not all peers lend their memory
	}
	p.Otherwise = other
	return nil
}

// preferred is the fastest transport that a program can have.
func preferred(p *hostir.Program) string {
	switch {
	case !exchanges(p.Choices.Pipeline):
		return "nccl"
	case p.Choices.Sums != "direct" && slices.ContainsFunc(p.Body, scattersSums):
		return "ipc-put"
	default:
		return "ipc-get"
	}
}

// scattersSums reports whether ranks sum parts of each other and keep a slice each.
func scattersSums(s hostir.Stmt) bool {
	_, reduces := s.(*hostir.Reduce)
	return reduces && shard.Describe(s).Scattered() != shard.NoAxis
}
