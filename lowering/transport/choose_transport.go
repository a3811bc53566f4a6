package transport

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// ChooseTransport adds a fallback variant if the schedule has transport: auto. The program itself uses CUDA IPC. The
// fallback variant is for ranks that cannot all share memory, and uses CUDA IPC within nodes and NCCL between nodes.
// All later passes run on both. In measurements, put was faster for programs that scatter sums, and get for programs
// that only gather. The pass keeps via where it is set. It adds no variant if via is never CUDA IPC, or if pipelines do
// not exchange shards from rank to rank.
//
// Requires: each transfer between ranks is a separate statement.
// Establishes: transport: auto is unset.
//
//	before: choices pipeline p2p, transport auto, ...
//	after:  choices pipeline p2p, all.via ipc-get, ...
//	        fallback:
//	        choices pipeline p2p, all.via ipc-get, ..., inter-node nccl
func ChooseTransport(p *hostir.Program) error {
	if p.Choices.Get(schedule.Transport) != schedule.Auto {
		return nil
	}
	p.Choices.Unset(schedule.Transport)
	if !p.Choices.Exchanges() {
		return nil
	}
	prefer(p)
	if !p.Choices.Any(schedule.Via, schedule.IPCGet) && !p.Choices.Any(schedule.Via, schedule.IPCPut) {
		return nil
	}
	other, err := text.Parse(p.File, text.Print(p))
	if err != nil {
		return fmt.Errorf("copying the program %s: %w", p.Name, err)
	}
	other.Params, other.Choices.InterNode = p.Params, schedule.NCCL
	for _, c := range other.Choices.Choices {
		if c.Field == schedule.Fuse && c.Value == schedule.PeerRead {
			other.Choices.Set(c.Of, c.Field, schedule.None) // not all peers share memory
		}
	}
	for i, s := range other.Body {
		s.Meta().Need = p.Body[i].Meta().Need
	}
	p.Fallback = other
	return nil
}

// prefer sets all.via, unless it is set: to put if the program has a reduce-scatter without fuse: peer-read, and to get
// otherwise. If it sets put, it sets get for each reduce-scatter with fuse: peer-read and without via.
func prefer(p *hostir.Program) {
	name, puts := hostir.Communications(p), false
	var reading []string
	for _, s := range p.Body {
		if !scattersSums(s) {
			continue
		}
		if of := name(s); p.Choices.Of(of, schedule.Fuse) != schedule.PeerRead {
			puts = true
		} else if _, chosen := p.Choices.Chosen(of, schedule.Via); !chosen {
			reading = append(reading, of)
		}
	}
	if _, chosen := p.Choices.Given(schedule.All, schedule.Via); chosen {
		return
	}
	p.Choices.Set(schedule.All, schedule.Via, schedule.IPCGet)
	if !puts {
		return
	}
	p.Choices.Set(schedule.All, schedule.Via, schedule.IPCPut)
	for _, of := range reading {
		p.Choices.Set(of, schedule.Via, schedule.IPCGet)
	}
}

// scattersSums reports whether a statement is a reduce-scatter: a reduction over ranks after which each rank keeps one
// slice.
func scattersSums(s hostir.Stmt) bool {
	return hostir.Is[*hostir.Reduce](s) && shard.Describe(s).Scattered() != shard.NoAxis
}
