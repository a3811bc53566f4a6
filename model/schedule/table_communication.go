package schedule

// ofCommunications lists those that each communication may have of its own.
func ofCommunications() []Field {
	return []Field{
		{
			Name: Via, Scope: Communication, Default: NCCL, Doc: "what [carries](#transport) the data",
			Values: []Value{
				{Name: NCCL, Doc: "NCCL: a collective, or send and receive in one group"},
				{Name: IPCGet, Doc: "CUDA IPC: the receiver copies from the sender's memory", legal: sharesMemory},
				{Name: IPCPut, Doc: "CUDA IPC: the sender copies into the receiver's memory", legal: sharesMemory},
			},
		},
		{
			Name: Lead, Scope: Communication, Low: 1, High: 1024, Default: All, UnderReference: None, Doc: "how many steps ahead of the GEMMs a transfer is [issued](#order-of-steps-and-transfers)", legal: inLoop,
			Values: []Value{{Name: All, Doc: "all of them before the loop, as far as their data is there"}, {Name: None, Doc: "in the step that uses it; the default of the reference"}},
		},
		{
			Name: Steps, Scope: Communication, Default: Rotation, Structural: true, Pipelines: []string{P2P}, Doc: "the order of [steps](#order-of-steps-and-transfers)", legal: pointToPoint,
			Values: []Value{
				{Name: Rotation, Doc: "in step s the shard of the rank s further on"},
				{Name: Pairwise, Doc: "two ranks exchange whose coordinates differ in the bits of s; for a power of two of ranks", legal: inPairs},
				{Name: Ring, Doc: "a rank passes on to the next one what it received from the previous one"},
				{Name: Bracket, Doc: "the first half of the local shard's sub-chunks first, then those of the other ranks, then its second half; with `split`", legal: inBrackets},
				{Name: Reverse, Reference: whyBack, Doc: "in step s the shard of the rank s back; with preset: reference"},
			},
		},
		{
			Name: Local, Scope: Communication, Default: First, Structural: true, Pipelines: []string{P2P}, Doc: "when a rank works on its local shard", legal: hasLocalStep,
			Values: []Value{{Name: First, Doc: "while the first remote shards are on their way"}, {Name: Last, Doc: "while the last partial sum is"}},
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
			Values: []Value{{Name: False}, {Name: True, Doc: "for a sum and what gathers it", legal: interchanges}},
		},
		{
			Name: Fuse, Scope: Communication, Default: None, Pipelines: []string{P2P}, Doc: "what a [sum over ranks](#sums-and-local-shards) is fused into", legal: isSum,
			Values: []Value{
				{Name: None, Doc: "partial sums arrive in memory, and an operation of its own adds them"},
				{Name: GEMM, Doc: "the GEMM accumulates (beta = 1) what came along a ring", legal: alongRing},
				{Name: PeerRead, Doc: "one kernel reads the partial sums of the peers where they are", legal: readsPeers},
			},
		},
		{
			Name: Copy, Scope: Communication, Default: Engine, Pipelines: []string{P2P}, Doc: "who [copies](#copies-and-flags) over CUDA IPC", legal: overIPC,
			Values: []Value{
				{Name: Engine, Doc: "a copy engine"},
				{Name: SM, Doc: "a kernel for each transfer, on SMs"},
				{Name: Fused, Doc: "one kernel for adjacent transfers"},
			},
		},
		{
			Name: Signals, Scope: Communication, Default: Single, Pipelines: []string{P2P}, Doc: "how [flags](#copies-and-flags) are set and waited for over CUDA IPC", legal: overIPC,
			Values: []Value{{Name: Single, Doc: "one by one"}, {Name: Batched, Doc: "adjacent ones together"}},
		},
	}
}
