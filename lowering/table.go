package lowering

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	callpasses "github.com/hirgen/hirgen/calls/passes"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/buffers"
	"github.com/hirgen/hirgen/lowering/fusion"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/inplace"
	"github.com/hirgen/hirgen/lowering/pipeline"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/lowering/streams"
	"github.com/hirgen/hirgen/lowering/transport"
)

// Pass is one rewriting of the host IR. Run changes the program in place, and leaves it unchanged if there is nothing
// to do. It reports unsupported programs as diagnostics.
type Pass struct {
	Name     string
	Why      string // what is true for the program after the pass
	Required bool   // whether programs cannot be emitted without the pass
	Run      func(*hostir.Program) error
}

// Constraint requires that one pass runs before another. Why is the reason.
type Constraint struct {
	Before, After string
	Why           string
}

// Passes is the table of passes, in the order in which Lower runs them.
var Passes = []Pass{
	{"serialize-single-ranks", "mesh axes of one rank are removed, and operations along them are local", false, shard.SerializeSingleRanks},
	{choosing, "fields that the spec leaves open get the fastest choices, measured or predicted (schedule: auto)", true, chooseSchedule},
	{"serialize-streams", "every Stream axis becomes a serial axis, so each operation runs as a whole (preset: eager)", true,
		shard.SerializeStreams},
	{schedules.Placing, "each tensor that the spec leaves open is whole, split or partial, as the work and communication are least", false,
		assignPlacements},
	{"merge-allreduces", "a reduce-scatter and the allgather of its result become one allreduce (preset: eager)", false,
		shard.MergeAllreduces},
	{"decompose-contractions", "a matmul that sums over a split axis becomes local matmuls, one reduction over ranks and one bias addition",
		false, shard.DecomposeContractions},
	{"mark-aliases", "a reshape, broadcast, permute or slice returns a view of its operand's buffer, unless it needs a copy", false,
		shard.MarkAliases},
	{"set-allocation-domains", "every tensor has a layout; the default is the logical order of its axes", true, shard.SetAllocationDomains},
	{"propagate-shardings", "temporaries with open axes get the Device and Stream axes of their operands and readers", false,
		shard.PropagateShardings},
	{"merge-rows", "two axes of rows become one where the ranks can share only both together (pipeline: p2p)", false, shard.MergeRows},
	{"split-rows", "summed or gathered rows are split into one part for each rank, if the spec has no Stream axis (pipeline: p2p)", false,
		shard.SplitRows},
	{"stream-reshardings", "gathers and sums next to GEMMs become pipelines, if the spec has no Stream axis (pipeline: p2p)", false,
		shard.StreamReshardings},
	{"exchange-sums", "two ranks that both need a sum exchange partial sums over CUDA IPC instead of an allreduce (pipeline: p2p)", false,
		shard.ExchangeSums},
	{"insert-reshardings", "every statement is either local to a rank or a resharding", true, shard.InsertReshardings},
	{"decompose-reshardings", "every resharding is a single communication", true, shard.DecomposeReshardings},
	{"send-parts", "ranks send each other small parts of gathers, all-to-alls and sums over CUDA IPC (pipeline: p2p)", false, shard.SendParts},
	{"reorder-sharded-axis", "the axis that a communication gathers or scatters is outermost in its buffer", true, shard.ReorderShardedAxis},
	{"make-reshardings-contiguous", "slices of communications, matmuls and reshapes are contiguous, and communications do not reorder axes",
		true, shard.MakeReshardingsContiguous},
	{"widen-operands", "operands of 8 bits that cuBLASLt cannot multiply as they lie in memory become operands of 16 bits", true,
		shard.WidenOperands},
	{"check-schedule", "schedule fields that apply to no communication are reported as errors", true, schedules.CheckSchedule},
	{"choose-transport", "communications use CUDA IPC, and a fallback variant uses NCCL between nodes (transport: auto)", true,
		transport.ChooseTransport},
	{"add-in-gemm", "a GEMM adds another tensor to its result, if only the addition reads the result (kernels: fused)", false,
		fusion.AddInGEMM},
	{"epilogue-in-gemm", "a GEMM applies a function in its epilogue, if only the function reads the result (kernels: fused)", false,
		fusion.EpilogueInGEMM},
	{"top-k-in-kernels", "a top_k of rows that each rank has whole is one kernel (kernels: fused)", false, fusion.TopKInKernels},
	{"raise-reshapes", "a reshape between two kernels comes before both, so that they can be one (kernels: fused)", false,
		fusion.RaiseReshapes},
	{"fuse-elementwise", "elementwise operations and reductions along rows are merged into fewer kernels (kernels: fused)", false,
		fusion.FuseElementwise},
	{"blocks-in-kernels", "a kernel quantizes blocks of the rows that it computes (kernels: fused)", false, fusion.BlocksInKernels},
	{"fold-columns", "a reduction along columns computes its operand itself, if that is cheap (kernels: fused)", false, fusion.FoldColumns},
	{"quantize-columns", "kernels quantize the rows of a transposed view without a copy of it (kernels: fused)", false,
		fusion.QuantizeColumns},
	{"share-tables", "tables that depend on positions alone, such as the angles of ropes, are computed once", false, fusion.ShareTables},
	{"whole-views", "a view that no pipeline reads has no Stream axis", false, shard.WholeViews},
	{"lower-streams", "operations on a Stream axis become a loop over its slices, and every buffer is allocated", true, streams.LowerStreams},
	{"interchange-sub-chunks", "adjacent pipelines share one outer loop over their sub-chunks (interchange: true)", false,
		streams.InterchangeSubChunks},
	{"accumulate-in-gemm", "a GEMM accumulates onto the partial sum received in a ring step, with beta = 1 (fuse: gemm)", false,
		inplace.AccumulateInGEMM},
	{"convert-to-communications", "every transfer between ranks becomes a communication and a wait for it", true,
		transport.ConvertToCommunications},
	{"assign-transport", "every communication has a backend: NCCL, unless the schedule selects CUDA IPC", true, transport.AssignTransport},
	{"make-local-shards-in-place", "a rank computes its local shard in the buffer where it gathers the other shards (local_shard: in-place)",
		false, inplace.MakeLocalShardsInPlace},
	{"read-sums-in-place", "a sum reads the partial sums of other ranks in peer memory (fuse: peer-read)", false, inplace.ReadSumsInPlace},
	{"write-sums-in-place", "a peer-read reduction writes its result to the buffers where the other ranks gather it (fuse: peer-read)", false,
		inplace.WriteSumsInPlace},
	{"make-concat-operands-in-place", "operands of a concat are computed in its result, if no statement needs them contiguous", false,
		inplace.MakeConcatOperandsInPlace},
	{"make-outputs-in-place", "the operand of a reshape to an output is computed in the output's buffer", false, inplace.MakeOutputsInPlace},
	{"sums-in-kernels", "a kernel that reads a sum adds up the partial sums itself (kernels: fused)", false, fusion.SumsInKernels},
	{"last-sums-in-kernels", "the kernel after a ring adds the last received partial sum (kernels: fused)", false, fusion.LastSumsInKernels},
	{"overlap", "transfers are issued early, pipelines run on several streams, and each wait precedes the first use of its data", true,
		pipeline.Overlap},
	{"group-communications", "collectives of one type and communicator that follow each other are one group, which is one launch", false,
		pipeline.GroupCommunications},
	{"insert-deallocations", "every temporary buffer is freed after its last use (buffers: free)", false, buffers.InsertDeallocations},
}

// Order lists the constraints on the table. Any order of the passes within these constraints gives the same results.
var Order = []Constraint{
	{"serialize-single-ranks", "choose-schedule", "work along an axis of one rank is local, and must not match a measured communication"},
	{"serialize-single-ranks", "decompose-contractions", "a matmul over an axis of one rank needs no partial sums"},
	{"choose-schedule", "serialize-streams", "choose-schedule recognizes operations by their Stream axes, and may choose preset: eager"},
	{"serialize-streams", schedules.Placing, "assign-placements leaves programs with Stream axes as they are"},
	{"choose-schedule", schedules.Placing, "assign-placements predicts under the schedule that is chosen"},
	{schedules.Placing, "merge-allreduces", "assign-placements reads the operations as the model has them"},
	{"serialize-streams", "decompose-contractions", "decompose-contractions copies the kinds of axes to its new tensors"},
	{"serialize-streams", "merge-allreduces", "merge-allreduces requires tensors without Stream axes"},
	{"merge-allreduces", "decompose-contractions",
		"merge-allreduces matches the reductions of the spec, before decompose-contractions adds others"},
	{"decompose-contractions", "mark-aliases", "mark-aliases also turns the permutes of decompose-contractions into views"},
	{"decompose-contractions", "set-allocation-domains", "the tensors that decompose-contractions adds also need layouts"},
	{"mark-aliases", "propagate-shardings", "mark-aliases looks for gaps in slices of whole tensors, and sharding changes local extents"},
	{"set-allocation-domains", "propagate-shardings", "propagate-shardings requires a layout for every tensor"},
	{"mark-aliases", "insert-reshardings", "insert-reshardings turns a view into a buffer if its data must move between ranks"},
	{"set-allocation-domains", "insert-reshardings", "insert-reshardings copies the layout of the tensor that it moves"},
	{"propagate-shardings", "merge-rows", "merge-rows finds sums over ranks by the shardings of all tensors"},
	{"merge-rows", "split-rows", "split-rows splits the rows that merge-rows merges"},
	{"propagate-shardings", "split-rows", "split-rows finds sums over ranks by the shardings of all tensors"},
	{"split-rows", "stream-reshardings", "stream-reshardings makes pipelines along the axes that split-rows splits over ranks"},
	{"propagate-shardings", "stream-reshardings", "stream-reshardings finds gathers and sums over ranks by the shardings of all tensors"},
	{"stream-reshardings", "insert-reshardings", "the tensors that insert-reshardings adds take the Stream axes of the pipelines"},
	{"stream-reshardings", "exchange-sums", "exchange-sums adds Stream axes, and stream-reshardings skips programs that have any"},
	{"exchange-sums", "insert-reshardings", "insert-reshardings must also see the transfers that exchange-sums adds"},
	{"propagate-shardings", "insert-reshardings", "insert-reshardings needs the final sharding of every tensor"},
	{"insert-reshardings", "decompose-reshardings", "decompose-reshardings only decomposes statements that do nothing but move data"},
	{"decompose-reshardings", "send-parts", "send-parts needs to see each all-to-all as one movement"},
	{"send-parts", "reorder-sharded-axis", "reorder-sharded-axis packs the parts that ranks send"},
	{"decompose-reshardings", "reorder-sharded-axis", "reorder-sharded-axis requires that each resharding is a single communication"},
	{"reorder-sharded-axis", "make-reshardings-contiguous",
		"make-reshardings-contiguous checks layouts, and reorder-sharded-axis changes them"},
	{"make-reshardings-contiguous", "widen-operands", "the layouts of operands decide what cuBLASLt can multiply"},
	{"widen-operands", "choose-transport", "choose-transport adds the fallback variant, and operands of both are converted once"},
	{"widen-operands", "lower-streams", "lower-streams slices the conversions like their operands"},
	{"widen-operands", "fuse-elementwise", "the conversions may be part of a kernel"},
	{"choose-schedule", "choose-transport", "choose-transport keeps the transport of a measured schedule"},
	{"decompose-reshardings", "choose-transport",
		"choose-transport looks at single communications: it prefers get for gathers and put for sums"},
	{"choose-transport", "lower-streams", "the transport determines how lower-streams exchanges shards between ranks"},
	{"make-reshardings-contiguous", "check-schedule", "check-schedule requires that each communication is a separate statement"},
	{"check-schedule", "choose-transport", "check-schedule must see the schedule without the choices and the variant that " +
		"choose-transport adds"},
	{"make-reshardings-contiguous", "lower-streams", "the slices that lower-streams makes take the layouts of their tensors"},
	{"make-reshardings-contiguous", "add-in-gemm", "add-in-gemm requires final layouts"},
	{"choose-transport", "add-in-gemm", "choose-transport adds the fallback variant, and each variant is fused separately"},
	{"make-reshardings-contiguous", "top-k-in-kernels", "top-k-in-kernels needs to know which rows a rank has whole"},
	{"choose-transport", "top-k-in-kernels", "choose-transport adds the fallback variant, and each variant gets its kernels separately"},
	{"top-k-in-kernels", "fuse-elementwise", "fuse-elementwise merges the operations of a top_k into several kernels"},
	{"add-in-gemm", "fuse-elementwise", "an addition in a GEMM needs no kernel"},
	{"add-in-gemm", "epilogue-in-gemm", "a GEMM adds before it applies its epilogue function"},
	{"epilogue-in-gemm", "fuse-elementwise", "a function in a GEMM's epilogue needs no kernel"},
	{"raise-reshapes", "fuse-elementwise", "fuse-elementwise merges no statements across a reshape"},
	{"epilogue-in-gemm", "raise-reshapes", "a function next to its GEMM is better in the epilogue than in another kernel"},
	{"make-reshardings-contiguous", "raise-reshapes", "raise-reshapes must know the final layouts, and makes views of buffers"},
	{"choose-transport", "raise-reshapes", "choose-transport adds the fallback variant, and each variant is fused separately"},
	{"make-reshardings-contiguous", "fuse-elementwise",
		"fuse-elementwise must know the communicated tensors, which need buffers, and the final layouts"},
	{"choose-transport", "fuse-elementwise", "choose-transport adds the fallback variant, and each variant is fused separately"},
	{"fuse-elementwise", "blocks-in-kernels", "blocks-in-kernels merges kernels, and fuse-elementwise makes them"},
	{"blocks-in-kernels", "lower-streams", "blocks-in-kernels requires whole tensors"},
	{"blocks-in-kernels", "whole-views", "whole-views depends on the readers of each view, and blocks-in-kernels changes them"},
	{"fuse-elementwise", "quantize-columns", "quantize-columns replaces the copies that fuse-elementwise inserts before kernels"},
	{"quantize-columns", "whole-views", "whole-views depends on the readers of each view, and quantize-columns changes them"},
	{"quantize-columns", "lower-streams", "quantize-columns requires whole tensors"},
	{"fuse-elementwise", "share-tables", "fuse-elementwise computes most tables in the kernels that read them, each for one reader"},
	{"share-tables", "whole-views", "whole-views depends on the readers of each view, and share-tables changes them"},
	{"share-tables", "lower-streams", "share-tables requires whole tensors"},
	{"fold-columns", "whole-views", "whole-views depends on the readers of each view, and fold-columns changes them"},
	{"whole-views", "lower-streams", "lower-streams slices every tensor with a Stream axis, including views"},
	{"fuse-elementwise", "lower-streams", "fuse-elementwise requires whole tensors, and lower-streams slices a fused statement like " +
		"any other"},
	{"fuse-elementwise", "fold-columns", "fold-columns replaces the operand of a reduction by the operands of the kernel that computes it"},
	{"fold-columns", "lower-streams", "fold-columns requires whole tensors"},
	{"lower-streams", "convert-to-communications", "a communication in a pipeline transfers one slice, not the whole tensor"},
	{"convert-to-communications", "assign-transport", "only communications have a transport"},
	{"lower-streams", "interchange-sub-chunks", "interchange-sub-chunks swaps and merges the loops that lower-streams creates"},
	{"interchange-sub-chunks", "overlap", "overlap also moves transfers out of the loops over sub-chunks"},
	{"lower-streams", "accumulate-in-gemm", "accumulate-in-gemm moves additions of ring steps into GEMMs, and lower-streams creates these " +
		"additions"},
	{"lower-streams", "insert-deallocations", "insert-deallocations needs the final loops to find the last use of a buffer"},
	{"convert-to-communications", "insert-deallocations", "a buffer is in use until the wait for its communication"},
	{"assign-transport", "overlap", "the stream of a transfer depends on its transport"},
	{"assign-transport", "read-sums-in-place", "a sum can read partial sums in peer memory only over CUDA IPC"},
	{"lower-streams", "make-local-shards-in-place", "lower-streams creates the copy of the local shard as a step of a pipeline"},
	{"interchange-sub-chunks", "make-local-shards-in-place",
		"interchange-sub-chunks recognizes loops by the sub-chunks that they use, also in local copies"},
	{"make-local-shards-in-place", "read-sums-in-place", "make-local-shards-in-place determines the buffer that a sum writes"},
	{"make-local-shards-in-place", "overlap", "overlap can move a whole loop of transfers once the copy of the local shard is removed"},
	{"make-local-shards-in-place", "insert-deallocations", "a buffer is in use as long as a view of it"},
	{"make-local-shards-in-place", "write-sums-in-place", "write-sums-in-place requires that the sum is computed in the gathered buffer"},
	{"read-sums-in-place", "write-sums-in-place", "only a peer-read reduction can write to the buffers of its peers"},
	{"write-sums-in-place", "overlap", "overlap must not issue copies that write-sums-in-place removes"},
	{"read-sums-in-place", "overlap", "overlap puts ready flags on the streams that compute the partial sums, and must issue no " +
		"copies of them"},
	{"make-local-shards-in-place", "make-outputs-in-place",
		"make-outputs-in-place requires that local shards are views of the gathered buffers"},
	{"convert-to-communications", "make-concat-operands-in-place",
		"make-concat-operands-in-place must see all communications, because their buffers must be contiguous"},
	{"interchange-sub-chunks", "make-concat-operands-in-place", "interchange-sub-chunks recognizes loops by the sub-chunks that they use"},
	{"accumulate-in-gemm", "make-concat-operands-in-place", "a tensor that a GEMM writes or accumulates onto must be contiguous"},
	{"make-local-shards-in-place", "make-concat-operands-in-place",
		"a buffer becomes a view of only one other buffer, and a local shard in place saves more"},
	{"write-sums-in-place", "make-concat-operands-in-place", "a peer-read reduction requires contiguous buffers"},
	{"make-concat-operands-in-place", "make-outputs-in-place",
		"make-outputs-in-place can make the result of a concat a view, together with its operands"},
	{"make-concat-operands-in-place", "overlap", "overlap needs the final writers of each buffer to find independent statements"},
	{"make-concat-operands-in-place", "insert-deallocations", "insert-deallocations frees buffers, but no views"},
	{"read-sums-in-place", "sums-in-kernels", "a peer-read reduction has no local copies of the parts that a kernel could add up"},
	{"accumulate-in-gemm", "sums-in-kernels", "an addition in a GEMM needs no kernel"},
	{"convert-to-communications", "last-sums-in-kernels", "the wait in the last step must be a separate statement from the addition"},
	{"accumulate-in-gemm", "last-sums-in-kernels", "an addition in a GEMM needs no kernel"},
	{"last-sums-in-kernels", "overlap", "overlap puts the last wait before the kernel that reads the received data"},
	{"sums-in-kernels", "overlap", "overlap needs the final readers of each buffer to find independent statements"},
	{"make-outputs-in-place", "overlap", "overlap needs the final writer of each output to find independent statements"},
	{"make-outputs-in-place", "insert-deallocations", "insert-deallocations frees buffers, but no views"},
	{"overlap", "group-communications", "overlap decides which collectives follow each other, and where their Waits are"},
	{"group-communications", "insert-deallocations", "a buffer is in use until the wait for the group"},
	{"overlap", "insert-deallocations", "a buffer is in use until the last wait for it"},
}

// choosing is the name of the pass that chooses a schedule. It may run the passes on candidates.
const choosing = "choose-schedule"

// passesToTry is Passes. chooseSchedule cannot refer to Passes directly, because Passes contains it, so its
// initialization would be a cycle.
var passesToTry []Pass

func init() {
	passesToTry = Passes
	if err := checkOrder(Passes, Order); err != nil {
		panic("lowering: " + err.Error())
	}
}

// assignPlacements is the pass assign-placements with predictions for the machine of the measurements.
func assignPlacements(p *hostir.Program) error { return placeFor(nil)(p) }

// placeFor returns the pass assign-placements with predictions for a machine; nil means the machine of the
// measurements.
func placeFor(m *cost.Machine, disabled ...string) func(p *hostir.Program) error {
	return func(p *hostir.Program) error { return schedules.AssignPlacements(p, m, LowerChosen(disabled...)) }
}

// chooseSchedule is the pass choose-schedule, with predictions for the machine of the measurements. A prediction lowers
// the program with each candidate.
func chooseSchedule(p *hostir.Program) error { return chooseFor(nil)(p) }

// chooseFor returns the pass choose-schedule with predictions for a machine; nil means the machine of the measurements.
func chooseFor(m *cost.Machine, disabled ...string) func(p *hostir.Program) error {
	return func(p *hostir.Program) error { return schedules.ChooseSchedule(p, m, LowerChosen(disabled...)) }
}

// LowerChosen returns the lowering that predictions use for a program whose schedule and placements are already chosen.
// It skips the disabled passes, assign-placements, and the passes on calls that a prediction does not need.
func LowerChosen(disabled ...string) schedules.Lower {
	without := Options{Disable: append(slices.Clone(disabled), schedules.Placing)}
	run := func(p *hostir.Program) ([]*calls.Program, error) {
		if err := Run(p, passesToTry, without); err != nil {
			return nil, err
		}
		return OrderOf(p)
	}
	return schedules.Lower{Run: run, Places: !slices.Contains(disabled, schedules.Placing)}
}

// checkOrder returns an error if a pass is in the table twice, or for the first constraint that is violated or names an
// unknown pass.
func checkOrder(passes []Pass, order []Constraint) error {
	at := make(map[string]int, len(passes))
	for i, p := range passes {
		if _, twice := at[p.Name]; twice {
			return fmt.Errorf("pass %s is in the table twice", p.Name)
		}
		at[p.Name] = i
	}
	for _, c := range order {
		before, ok := at[c.Before]
		after, ok2 := at[c.After]
		switch {
		case !ok || !ok2:
			return fmt.Errorf("the constraint %s -> %s names an unknown pass", c.Before, c.After)
		case before >= after:
			return fmt.Errorf("pass %s must run before %s: %s", c.Before, c.After, c.Why)
		}
	}
	return nil
}

// Names of the steps that are not passes.
const (
	Building    = "build" // builds the host IR from the model
	Translating = "calls" // translates each statement of the host IR to calls
)

// Steps lists the steps of a lowering, in order: Building, Passes, Translating and the passes on calls.
func Steps() []string {
	names := []string{Building}
	for _, p := range Passes {
		names = append(names, p.Name)
	}
	names = append(names, Translating)
	for _, p := range callpasses.Passes {
		names = append(names, p.Name)
	}
	return names
}

// Describe prints the tables of passes, and the constraints on their order with the reasons.
func Describe(w io.Writer) error {
	var b strings.Builder
	width := 0
	for _, p := range Passes {
		width = max(width, len(p.Name))
	}
	line := func(i int, name string, required bool, why string) {
		kind := "optional"
		if required {
			kind = "required"
		}
		fmt.Fprintf(&b, "%3d. %-*s  %s  %s\n", i+1, width, name, kind, why)
	}
	b.WriteString("Passes on the host IR, in order:\n")
	for i, p := range Passes {
		line(i, p.Name, p.Required, p.Why)
	}
	fmt.Fprintf(&b, "\nPasses on calls, in order, after each statement has become calls (%s):\n", Translating)
	for i, p := range callpasses.Passes {
		line(i, p.Name, true, p.Why)
	}
	b.WriteString("\nOrder of the passes on the host IR, and why:\n")
	for _, c := range Order {
		fmt.Fprintf(&b, "  %-*s before %-*s  %s\n", width, c.Before, width, c.After, c.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
