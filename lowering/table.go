package lowering

import (
	"fmt"
	"io"

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

// Pass is one rewriting of the host IR. Run changes the program in place. It leaves a program unchanged if it has
// nothing to do, and reports unsupported programs as diagnostics.
type Pass struct {
	Name     string
	Why      string
	Required bool // the program cannot be emitted without it
	Run      func(*hostir.Program) error
}

// Constraint requires that one pass runs before another, for a reason.
type Constraint struct {
	Before, After string
	Why           string
}

// Passes is the pass table, in the order in which Lower runs it.
var Passes = []Pass{
	{"serialize-single-ranks", "nothing crosses ranks along an axis of one rank", false, shard.SerializeSingleRanks},
	{choosing, "what the spec leaves open is chosen by the size of the problem (schedule: auto)", true, chooseSchedule},
	{"serialize-streams", "without a pipeline, Stream axes are plain axes (preset: eager)", true, shard.SerializeStreams},
	{"merge-allreduces", "a sum that is scattered and then gathered is one allreduce (preset: eager)", false, shard.MergeAllreduces},
	{"decompose-contractions", "a matmul over a split axis is parts, one reduction, then the bias", false, shard.DecomposeContractions},
	{"mark-aliases", "a result that moves no element shares its operand's buffer", false, shard.MarkAliases},
	{"set-allocation-domains", "every buffer gets its layout", true, shard.SetAllocationDomains},
	{"propagate-shardings", "tensors that the user left open follow their operands", false, shard.PropagateShardings},
	{"split-rows", "rows that are one axis are one part of each rank, for pipelines that the spec does not name (pipeline: p2p)", false, shard.SplitRows},
	{"stream-reshardings", "gathers and sums beside GEMMs are pipelines, where the spec names none (pipeline: p2p)", false, shard.StreamReshardings},
	{"exchange-sums", "two ranks that want a whole sum exchange their parts of it by copy engines (pipeline: p2p)", false, shard.ExchangeSums},
	{"insert-reshardings", "an operation is either local or one communication, never both", true, shard.InsertReshardings},
	{"decompose-reshardings", "one movement of data is one communication", true, shard.DecomposeReshardings},
	{"reorder-sharded-axis", "a collective moves slices of the outermost axis of a buffer", true, shard.ReorderShardedAxis},
	{"make-reshardings-contiguous", "a collective moves one contiguous range of memory", true, shard.MakeReshardingsContiguous},
	{"check-schedule", "every choice says something of some communication, or is an error at its place", true, schedules.CheckSchedule},
	{"choose-transport", "what goes over CUDA IPC is made for several nodes, too, with NCCL between them (transport: auto)", true, transport.ChooseTransport},
	{"add-in-gemm", "a GEMM adds what its result alone is added to (kernels: fused)", false, fusion.AddInGEMM},
	{"epilogue-in-gemm", "a GEMM applies the function that its result alone goes through (kernels: fused)", false, fusion.EpilogueInGEMM},
	{"fuse-elementwise", "operations that work element by element or fold rows are one kernel (kernels: fused)", false, fusion.FuseElementwise},
	{"fold-columns", "a sum over rows computes what it sums, where that is cheap (kernels: fused)", false, fusion.FoldColumns},
	{"whole-views", "a view that no pipeline reads is one of a whole buffer", false, shard.WholeViews},
	{"lower-streams", "operations on one Stream axis become a pipeline over worker streams", true, streams.LowerStreams},
	{"interchange-sub-chunks", "a sum and what gathers it run sub-chunk by sub-chunk (interchange: true)", false, streams.InterchangeSubChunks},
	{"accumulate-in-gemm", "a GEMM adds to its result what came along a ring (fuse: gemm)", false, inplace.AccumulateInGEMM},
	{"convert-to-communications", "what crosses ranks becomes a communication, named and waited for", true, transport.ConvertToCommunications},
	{"assign-transport", "every communication gets what carries it", true, transport.AssignTransport},
	{"make-local-shards-in-place", "what ranks gather is made where the slices of the others arrive (local_shard: in-place)", false, inplace.MakeLocalShardsInPlace},
	{"read-sums-in-place", "a sum reads the parts of other ranks where they are (fuse: peer-read)", false, inplace.ReadSumsInPlace},
	{"write-sums-in-place", "a sum that reads its peers' parts writes where they gather it (fuse: peer-read)", false, inplace.WriteSumsInPlace},
	{"make-concat-operands-in-place", "operands of a concat are made in its result, where they can have gaps", false, inplace.MakeConcatOperandsInPlace},
	{"make-outputs-in-place", "what is reshaped to an output is made there", false, inplace.MakeOutputsInPlace},
	{"sums-in-kernels", "a kernel adds up the parts of a sum that it reads (kernels: fused)", false, fusion.SumsInKernels},
	{"last-sums-in-kernels", "the kernel behind a ring adds what came in last (kernels: fused)", false, fusion.LastSumsInKernels},
	{"overlap", "edges say what may overlap: transfers lead, iterations spread over streams, waits stand where data is needed", true, pipeline.Overlap},
	{"insert-deallocations", "a buffer lives no longer than its last use (buffers: free)", false, buffers.InsertDeallocations},
}

// Order lists the constraints on the table. Passes may be reordered within these constraints without changing any
// result.
var Order = []Constraint{
	{"serialize-single-ranks", "choose-schedule", "what runs on one rank is none of the measured operations"},
	{"serialize-single-ranks", "decompose-contractions", "a product over a single rank needs no parts"},
	{"choose-schedule", "serialize-streams", "every pass may ask for choices, and what is chosen depends on the Stream axes"},
	{"serialize-streams", "decompose-contractions", "new tensors take the kinds of the axes that they stand for"},
	{"serialize-streams", "merge-allreduces", "only what is no pipeline is merged"},
	{"merge-allreduces", "decompose-contractions", "it looks at the operations as the spec has them"},
	{"decompose-contractions", "mark-aliases", "it reads what reshapes merge, and its permutes are views"},
	{"decompose-contractions", "set-allocation-domains", "its tensors need layouts, too"},
	{"mark-aliases", "propagate-shardings", "an alias is a fact about whole tensors; sharding would hide it"},
	{"set-allocation-domains", "propagate-shardings", "layouts that sharding sets must not be overwritten"},
	{"mark-aliases", "insert-reshardings", "a resharded result is a buffer of its own"},
	{"set-allocation-domains", "insert-reshardings", "a new tensor takes the layout of the one that it stands for"},
	{"propagate-shardings", "split-rows", "which sums go over ranks is known once every tensor is sharded"},
	{"split-rows", "stream-reshardings", "pipelines run along axes of the ranks"},
	{"propagate-shardings", "stream-reshardings", "what crosses ranks is known once every tensor is sharded"},
	{"stream-reshardings", "insert-reshardings", "what moves for a pipeline moves slice by slice"},
	{"stream-reshardings", "exchange-sums", "a sum that leaves each rank its rows is part of a pipeline"},
	{"exchange-sums", "insert-reshardings", "what a rank gets of the other one's is a movement of its own"},
	{"propagate-shardings", "insert-reshardings", "what must move is known once every tensor is sharded"},
	{"insert-reshardings", "decompose-reshardings", "a movement stands alone before it is taken apart"},
	{"decompose-reshardings", "reorder-sharded-axis", "which axis must be outermost is known of a single step"},
	{"reorder-sharded-axis", "make-reshardings-contiguous", "the layout is checked once it is final"},
	{"choose-schedule", "choose-transport", "a measured schedule has a transport"},
	{"decompose-reshardings", "choose-transport", "who gathers and who sums is known of single steps"},
	{"choose-transport", "lower-streams", "how ranks exchange slices depends on what carries them"},
	{"make-reshardings-contiguous", "check-schedule", "communications are known when all stand"},
	{"check-schedule", "choose-transport", "what the schedule leaves open is still open, and there is one program"},
	{"make-reshardings-contiguous", "lower-streams", "slices take the layout of what they slice"},
	{"make-reshardings-contiguous", "add-in-gemm", "layouts are final"},
	{"choose-transport", "add-in-gemm", "each of its programs is fused for itself"},
	{"add-in-gemm", "fuse-elementwise", "what a GEMM adds needs no kernel"},
	{"add-in-gemm", "epilogue-in-gemm", "a GEMM adds before it applies a function"},
	{"epilogue-in-gemm", "fuse-elementwise", "a function that a GEMM applies needs no kernel"},
	{"make-reshardings-contiguous", "fuse-elementwise", "what is communicated has a buffer, and layouts are final"},
	{"choose-transport", "fuse-elementwise", "each of its programs is fused for itself"},
	{"fold-columns", "whole-views", "who reads a view is known once kernels stand"},
	{"whole-views", "lower-streams", "a pipeline makes what is in it slice by slice"},
	{"fuse-elementwise", "lower-streams", "whole tensors have no slices that lie apart, and one statement is sliced as any other"},
	{"fuse-elementwise", "fold-columns", "what a sum over rows reads is made by a kernel, which has what that is made of"},
	{"fold-columns", "lower-streams", "whole tensors have no slices that lie apart"},
	{"lower-streams", "convert-to-communications", "a slice is what a pipeline moves, not the whole tensor"},
	{"convert-to-communications", "assign-transport", "only communications have a transport"},
	{"lower-streams", "interchange-sub-chunks", "it cuts the slices of pipelines, whose loops are fused"},
	{"interchange-sub-chunks", "overlap", "transfers move out of the loops over sub-chunks, too"},
	{"lower-streams", "accumulate-in-gemm", "it makes the additions of the steps of a ring, which GEMMs then do"},
	{"lower-streams", "insert-deallocations", "the last use is known once the loops stand"},
	{"convert-to-communications", "insert-deallocations", "a buffer is in use until its communication was waited for"},
	{"assign-transport", "overlap", "what stream a transfer runs on depends on what carries it"},
	{"assign-transport", "read-sums-in-place", "only memory that ranks share can be read there"},
	{"lower-streams", "make-local-shards-in-place", "the copy of the local shard is a step of a pipeline"},
	{"interchange-sub-chunks", "make-local-shards-in-place", "loops over sub-chunks are found by what is written sub-chunk by sub-chunk, the local copy too"},
	{"make-local-shards-in-place", "read-sums-in-place", "what a sum goes to is known before the sum is made"},
	{"make-local-shards-in-place", "overlap", "what it leaves of a pipeline moves as a whole"},
	{"make-local-shards-in-place", "insert-deallocations", "a buffer is in use as long as a view of it"},
	{"make-local-shards-in-place", "write-sums-in-place", "a sum that is made among the slices of its peers knows where theirs are"},
	{"read-sums-in-place", "write-sums-in-place", "only a sum that waits for its peers itself can write there"},
	{"write-sums-in-place", "overlap", "what the sum writes is ready on the stream that it follows, and no copy is issued for it"},
	{"read-sums-in-place", "overlap", "its ready flags are set on the stream that made the parts, and what it does not copy needs no stream"},
	{"make-local-shards-in-place", "make-outputs-in-place", "local shards become views of buffers"},
	{"convert-to-communications", "make-concat-operands-in-place", "what crosses ranks is one run of memory"},
	{"interchange-sub-chunks", "make-concat-operands-in-place", "it finds loops by what they make slice by slice"},
	{"accumulate-in-gemm", "make-concat-operands-in-place", "what a GEMM makes is one run of memory"},
	{"make-local-shards-in-place", "make-concat-operands-in-place", "what is made where ranks gather it is a view, too, and saves more"},
	{"write-sums-in-place", "make-concat-operands-in-place", "a sum that reads its peers' parts is one run of memory"},
	{"make-concat-operands-in-place", "make-outputs-in-place", "a buffer that an output is reshaped from becomes a view, which the operands are then views of"},
	{"make-concat-operands-in-place", "overlap", "who writes the result is known before what may overlap"},
	{"make-concat-operands-in-place", "insert-deallocations", "nobody frees a view"},
	{"read-sums-in-place", "sums-in-kernels", "a sum that reads its peers' parts has no parts of its own"},
	{"accumulate-in-gemm", "sums-in-kernels", "what a GEMM adds needs no kernel"},
	{"convert-to-communications", "last-sums-in-kernels", "what the last step waits for is another statement than the add"},
	{"accumulate-in-gemm", "last-sums-in-kernels", "what a GEMM adds needs no kernel"},
	{"last-sums-in-kernels", "overlap", "waits stand where what came in is read"},
	{"sums-in-kernels", "overlap", "who reads what is known before what may overlap"},
	{"make-outputs-in-place", "overlap", "who writes an output is known before what may overlap"},
	{"make-outputs-in-place", "insert-deallocations", "nobody frees a view"},
	{"overlap", "insert-deallocations", "a buffer is in use until its last wait"},
}

// choosing is the pass that runs the other passes on candidates.
const choosing = "choose-schedule"

// passesToTry is Passes. chooseSchedule cannot refer to Passes directly, because it is one of them.
var passesToTry []Pass

func init() {
	passesToTry = Passes
	if err := checkOrder(Passes, Order); err != nil {
		panic("lowering: " + err.Error())
	}
}

// chooseSchedule predicts by lowering the program with each candidate.
func chooseSchedule(p *hostir.Program) error { return schedules.ChooseSchedule(p, lowerChosen()) }

// lowerChosen runs all passes except the disabled ones on a program whose schedule is chosen.
func lowerChosen(disabled ...string) schedules.Lower {
	return func(p *hostir.Program) error { return Run(p, passesToTry, Options{Disable: disabled}) }
}

// checkOrder returns an error if a pass is in the table twice, or for the first constraint that is violated or names a
// missing pass.
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

// Describe prints the pass table and the order constraints with their reasons.
func Describe(w io.Writer) error {
	width := 0
	for _, p := range Passes {
		width = max(width, len(p.Name))
	}
	if _, err := fmt.Fprintln(w, "Passes, in order:"); err != nil {
		return err
	}
	for i, p := range Passes {
		kind := "optional"
		if p.Required {
			kind = "required"
		}
		if _, err := fmt.Fprintf(w, "%3d. %-*s  %s  %s\n", i+1, width, p.Name, kind, p.Why); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w, "\nOrder, and why:"); err != nil {
		return err
	}
	for _, c := range Order {
		if _, err := fmt.Fprintf(w, "  %-*s before %-*s  %s\n", width, c.Before, width, c.After, c.Why); err != nil {
			return err
		}
	}
	return nil
}
