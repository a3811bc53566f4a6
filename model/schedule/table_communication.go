package schedule

import (
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/transports"
)

// ofCommunications lists the fields that each communication may have.
func ofCommunications() []Field {
	return []Field{
		{
			Name: Via, Scope: Communication, Default: NCCL, Doc: "what [carries](#transport) the data",
			Values: lists.Map(transports.Rows(), func(r transports.Row) Value { return Value{Name: r.Name, Doc: r.Doc, legal: carriedBy(r)} }),
		},
		{
			Name: Lead, Scope: Communication, Low: 1, High: 1024, Default: All, UnderReference: None,
			Doc: "how many steps ahead of the GEMMs a transfer is [issued](#order-of-steps-and-transfers)", legal: inLoop,
			Values: []Value{{Name: All, Doc: "before the loop, if their data exists by then"},
				{Name: None, Doc: "in the step that uses it; the default of the reference"}},
		},
		{
			Name: Steps, Scope: Communication, Default: Rotation, Structural: true, Pipelines: []string{P2P},
			Doc: "the order of [steps](#order-of-steps-and-transfers)", legal: pointToPoint,
			Values: []Value{
				{Name: Rotation, Doc: "in step s the shard of rank + s"},
				{Name: Pairwise, Doc: "in step s the shard of rank xor s; for a power of two of ranks", legal: inPairs},
				{Name: Ring, Doc: "a rank passes the data of the previous rank on to the next rank"},
				{Name: Bracket, Doc: "half of the local sub-chunks, then the sub-chunks of the other ranks, then the other half; with `split`",
					legal: inBrackets},
				{Name: Reverse, Reference: whyBack, Doc: "in step s the shard of rank - s; with preset: reference"},
			},
		},
		{
			Name: Local, Scope: Communication, Default: First, Structural: true, Pipelines: []string{P2P},
			Doc: "when a rank works on its local shard", legal: hasLocalStep,
			Values: []Value{{Name: First, Doc: "during the transfers of the first remote shards"},
				{Name: Last, Doc: "during the transfer of the last partial sum"}},
		},
		{
			Name: Split, Scope: Communication, Low: 1, High: 1024, Default: "1", Structural: true, Pipelines: []string{P2P},
			Doc: "[sub-chunks](#gemm-count-and-sub-chunks) of each shard", legal: pointToPoint,
		},
		{
			Name: Block, Scope: Communication, Low: 1, High: 1024, Structural: true, Pipelines: []string{P2P},
			Doc: "shards of one [GEMM](#gemm-count-and-sub-chunks)", legal: inBlocks, fits: blocksOfRanks,
		},
		{
			Name: Interchange, Scope: Communication, Default: False, Structural: true, Pipelines: []string{P2P},
			Doc: "with `split`: the loop over sub-chunks is outside of the one over shards", legal: pointToPoint,
			Values: []Value{{Name: False}, {Name: True, Doc: "for a sum and its gather", legal: interchanges}},
		},
		{
			Name: Fuse, Scope: Communication, Default: None, Pipelines: []string{P2P},
			Doc: "what a [sum over ranks](#sums-and-local-shards) is fused into", legal: isSum,
			Values: []Value{
				{Name: None, Doc: "partial sums arrive in memory, and a separate operation adds them"},
				{Name: GEMM, Doc: "the GEMM adds to the data that came along a ring (beta = 1)", legal: alongRing},
				{Name: PeerRead, Doc: "one kernel reads the partial sums in peer memory", legal: readsPeers},
				{Name: Exchange, Doc: "ranks send each other whole partial sums in the kernel that adds them; for small sums", legal: sendsParts},
			},
		},
		{
			Name: Copy, Scope: Communication, Default: Engine, Pipelines: []string{P2P}, Doc: "who [copies](#copies-and-flags) over CUDA IPC",
			legal: overIPC,
			Values: []Value{
				{Name: Engine, Doc: "a copy engine"},
				{Name: SM, Doc: "a kernel for each transfer, on SMs"},
				{Name: Fused, Doc: "one kernel for adjacent transfers"},
			},
		},
		{
			Name: Signals, Scope: Communication, Default: Single, Pipelines: []string{P2P},
			Doc: "how [flags](#copies-and-flags) are set and waited for over CUDA IPC", legal: overIPC,
			Values: []Value{{Name: Single, Doc: "one by one"}, {Name: Batched, Doc: "adjacent ones together"}},
		},
	}
}
