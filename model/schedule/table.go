package schedule

import (
	"slices"

	"github.com/hirgen/hirgen/model/transports"
)

// The fields of the program.
const (
	Preset       = "preset"
	Pipeline     = "pipeline"
	Streams      = "streams"
	Transport    = "transport"
	Nodes        = "nodes"
	Reshard      = "reshard"
	Buffers      = "buffers"
	Graph        = "graph"
	InitialWaits = "initial_waits"
	Joins        = "joins"
	LocalShard   = "local_shard"
	Delay        = "delay"
	Kernels      = "kernels"

	Deterministic = "deterministic"
)

// The fields of communications.
const (
	Via         = "via"
	Lead        = "lead"
	Steps       = "steps"
	Local       = "local"
	Split       = "split"
	Block       = "block"
	Interchange = "interchange"
	Fuse        = "fuse"
	Copy        = "copy"
	Signals     = "signals"
)

// Names of values.
const (
	Auto          = "auto"
	Eager         = "eager"
	Reference     = "reference"
	Collective    = "collective"
	BroadcastEach = "broadcast"
	ReduceTo      = "reduce"
	P2P           = "p2p"
	NCCL          = transports.NCCL
	IPCGet        = transports.IPCGet
	IPCPut        = transports.IPCPut
	Rotation      = "rotation"
	Pairwise      = "pairwise"
	Ring          = "ring"
	Bracket       = "bracket"
	Reverse       = "reverse"
	First         = "first"
	Last          = "last"
	None          = "none"
	GEMM          = "gemm"
	PeerRead      = "peer-read"
	Exchange      = "exchange"
	Engine        = "engine"
	SM            = "sm"
	Fused         = "fused"
	Single        = "single"
	Batched       = "batched"
	Before        = "before"
	After         = "after"
	Body          = "body"
	SplitWaits    = "split"
	Keep          = "keep"
	Free          = "free"
	InPlace       = "in-place"
	Copied        = "copied"
	True          = "true"
	False         = "false"
)

// Reasons why some choices need preset: reference.
const (
	whySerial = "it makes pipelines serial, and is there to show the difference"
	whyJoins  = "other programs join after the loop"
	whyLocal  = "other programs use the local shard where it is, which saves a copy"
	whyDelay  = "it is there to repeat what the reference measures"
	whyBack   = "it is as fast as rotation, and is there to repeat the order of the reference"
)

// Fields is the table of all fields, in the order of the documentation: first the fields of the program, then the fields
// of communications.
var Fields []Field

func init() { Fields = slices.Concat(ofProgram(), ofCommunications()) }

// ofProgram lists the fields of the whole program.
func ofProgram() []Field {
	return []Field{
		{
			Name: Preset, Doc: "the defaults that the other fields change; `schedule: eager` is short for `{preset: eager}`",
			Values: []Value{
				{Name: Auto, Doc: "what is open is chosen by [measurements and predictions](#schedule-auto); the default of a spec without a schedule"},
				{Name: None, Doc: "no overlap: as `eager`, and on the caller's stream, but for small GEMMs of a [CUDA graph](#cuda-graphs)"},
				{Name: Eager, Doc: "no pipeline: Stream axes are plain axes, and a whole collective comes before or after the whole operation"},
				{Name: Reference, Doc: "the statements of the reference's host programs in their order: joins in the loop"},
			},
		},
		{
			Name: Pipeline, Default: Collective, Doc: "how a [pipeline](#kind-of-pipeline) crosses ranks",
			Values: []Value{
				{Name: Collective, Doc: "a collective moves one slice of the Stream axis"},
				{Name: BroadcastEach, Doc: "in iteration s, rank s broadcasts its shard"},
				{Name: ReduceTo, Doc: "in iteration s, all ranks reduce to rank s"},
				{Name: P2P, Doc: "shards go from rank to rank"},
			},
		},
		{Name: Streams, High: 64, Default: "4",
			Doc: "number of [worker streams](#streams-and-waits) of pipelines; with 0 the caller's stream does the work"},
		{
			Name: Transport, Pipelines: []string{P2P}, Doc: "left open, each communication says its own with `via`",
			Values: []Value{{Name: Auto, Doc: "two variants are emitted: CUDA IPC, and [NCCL between nodes](#transport-auto)"}},
		},
		{Name: Nodes, MeshAxis: true, Pipelines: []string{P2P},
			Doc: "the mesh axis that leads from [node to node](#several-nodes): transfers along it use NCCL"},
		{
			Name: Reshard, Default: Before, Doc: "where an operation's communication stands",
			Values: []Value{{Name: Before, Doc: "the operands are communicated"}, {Name: After, Doc: "the result is communicated"}},
		},
		{
			Name: Buffers, Default: Keep, Doc: "how long [buffers](#buffers) live",
			Values: []Value{{Name: Keep, Doc: "as long as the program"}, {Name: Free, Doc: "until their last use in the host program"}},
		},
		{
			Name: Graph, Default: False, Doc: "whether a call is captured into a [CUDA graph](#cuda-graphs) and replayed",
			Values: []Value{{Name: False}, {Name: True}},
		},
		{
			Name: InitialWaits, Default: SplitWaits, Reference: whySerial, Doc: "where workers first wait for the caller's stream",
			Values: []Value{{Name: SplitWaits, Doc: "in a separate loop"}, {Name: Fused, Doc: "in the work loop"}},
		},
		{
			Name: Joins, Default: After, UnderReference: Body, Reference: whyJoins, Doc: "where the caller's stream waits for the workers",
			Values: []Value{{Name: After, Doc: "in a loop after the work loop"},
				{Name: Body, Doc: "in the work loop; the default of the reference"}},
		},
		{
			Name: LocalShard, Default: InPlace, Reference: whyLocal, Pipelines: []string{P2P},
			Doc:    "what happens with the [local shard](#sums-and-local-shards)",
			Values: []Value{{Name: InPlace, Doc: "it is used where it is"}, {Name: Copied, Doc: "it is copied among the remote shards"}},
		},
		{
			Name: Kernels, Default: Fused, UnderReference: Single,
			Doc: "how many [kernels](#kernels) elementwise operations and reductions along rows are",
			Values: []Value{{Name: Fused, Doc: "one for each chain whose intermediate tensors have one reader"},
				{Name: Single, Doc: "one for each operation; the default of the reference"}},
		},
		{
			Name: Deterministic, Default: False, Doc: "whether each output has the [same bits on every run](#same-bits-on-every-run)",
			Values: []Value{{Name: False}, {Name: True, Doc: "ranks add parts in their order, and cuDNN computes no gradient of attention"}},
		},
		{Name: Delay, High: 1000, Default: "0", Reference: whyDelay, Doc: "microseconds by which the second worker stream starts later"},
	}
}
