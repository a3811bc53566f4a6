package diag

var tensorEntries = []Entry{
	{Code: UnknownMesh, Title: "a mesh or mesh axis does not exist",
		Text: "A tensor names a mesh that the spec does not declare, or has an axis DIDy on a mesh without an axis y. A spec without a mesh " +
			"cannot split a tensor over ranks.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDy, 8]}\nops: [B = relu(A)]\n"},
	{Code: BadMesh, Title: "a mesh is not valid",
		Text: "A mesh has one to three axes, called x, y and z. If it lists its ranks, it lists one for each place, and no rank twice. Every " +
			"rank of the world belongs to a mesh.",
		Example: "hirgen: 1\nname: p\nmesh: {w: 2}\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: WorldTooLarge, Title: "there are too many ranks",
		Text:    "A program has at most 1024 ranks.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 64, y: 64}\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: AxisSyntax, Title: "an axis cannot be read",
		Text:    "Write an axis as an extent, or as DIDx, DIDy, DIDz, Stream(extent), r(extent) or b(1).",
		Example: "hirgen: 1\nname: p\ntensors: {A: [Strem(2), 8]}\nops: [B = relu(A)]\n"},
	{Code: DeviceExtent, Title: "an axis and its mesh axis have different extents",
		Text: "An axis DIDx has one element for each rank along the mesh axis x. Write DIDx alone, and the size of each rank's slice as " +
			"another axis: [DIDx, M/D].",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDx(8)]}\nops: [B = relu(A)]\n"},
	{Code: AxisTwice, Title: "two axes of one kind",
		Text:    "A tensor can be split over a mesh axis only once, and can have only one Stream axis.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDx, DIDx, 8]}\nops: [B = relu(A)]\n"},
	{Code: BadReduction, Title: "a reduction axis that nothing reduces",
		Text: "A result may list the axis that its operation reduces as r(extent), at the place that the axis has in the operand (for a " +
			"product: at the end). Inputs and all other results have no reduction axis.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [2, 8], B: [8, r(2)]}\nops:\n  - B = sum(A, axis=0)\n"},
	{Code: BadAxisCount, Title: "too few or too many axes",
		Text: "A tensor has 1 to 8 axes, reduction axes not counted. [] is an axis of one element. The operands of products have at least 2 " +
			"axes.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8], B: [8, 8]}\nops:\n  - C = matmul(A, B)\n"},
	{Code: UnknownDType, Title: "an element type does not exist",
		Text:    "docs/spec.md lists the element types, and says which operations take integers. Types of 8 bits are only moved and cast.",
		Example: "hirgen: 1\nname: p\ndtype: float32\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: UnusedTensor, Title: "a tensor is not used",
		Text: "Every tensor must be an operand or a result of an operation. Most often the name is misspelt in an operation. If an operation " +
			"has several results, one of them must be used or be an output.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8], B: [8]}\nops: [C = relu(A)]\n"},
	{Code: UnknownTensor, Title: "a tensor does not exist",
		Text:    "Declare inputs under tensors. Every other tensor is the result of an operation.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [C = relu(X)]\n"},
	{Code: BadFill, Title: "a check cannot fill a tensor",
		Text:    "Under fill, each entry is an input with the values that it has when a program checks itself: normal, positive or mask.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [C = relu(A)]\nfill: {A: odd}\n"},
}

var operationEntries = []Entry{
	{Code: OpSyntax, Title: "an operation cannot be read",
		Text:    "Write an operation as out = name(operands, attribute=value). Operations cannot be nested: name the inner result.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [relu(A)]\n"},
	{Code: UnknownOp, Title: "an operation does not exist",
		Text: "docs/spec.md and hirgen ops list the operations. Communications are not operations: declare how operand and result are split, " +
			"and hirgen derives what moves.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = rleu(A)]\n"},
	{Code: UseBeforeDefinition, Title: "a tensor is used before it is defined",
		Text:    "Write operations in an order in which they can run: each tensor before its readers. A cycle has no such order.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n  - B = add(A, C)\n  - C = relu(B)\n"},
	{Code: Redefined, Title: "a tensor is defined twice",
		Text:    "Every result needs a new name, because a name stands for one value. That includes the names of inputs.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n  - B = relu(A)\n  - B = neg(A)\n"},
	{Code: BadOperands, Title: "the number of operands is wrong",
		Text:    "docs/spec.md and hirgen ops NAME show the operands of each operation.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8, 8]}\nops: [B = matmul(A)]\n"},
	{Code: BadAttribute, Title: "an attribute is wrong",
		Text: "The operation has no such attribute, or the attribute is missing, appears twice, or has a value that does not suit the " +
			"operand.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8, 8]}\nops:\n  - B = sum(A, axis=2)\n"},
	{Code: ShapeMismatch, Title: "the shapes of operands do not match",
		Text: "A product sums over an axis that both operands have: the last axis of A and the second-last of B for matmul, the last axis of " +
			"both for linear. Elementwise operands have equal extents, aligned at the last axis; an axis of one element is stretched. A reshape " +
			"keeps the number of elements. Change the declared axes, or add a reshape, a permute or a broadcast.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8, 4], B: [8, 4]}\nops:\n  - C = matmul(A, B)\n"},
	{Code: ResultMismatch, Title: "a result has another shape than declared",
		Text: "The declared axes of a result, reduction axes not counted, must have the extents that the operation computes. The message " +
			"shows both. Correct the declaration, or leave it out: hirgen then derives the axes.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8, 4], B: [8]}\nops: [B = relu(A)]\n"},
	{Code: DTypeMismatch, Title: "element types do not match",
		Text: "All operands of an operation have one element type, and so does its result. Products and reductions may also return fp32. Use " +
			"cast to convert.",
		Example: "hirgen: 1\nname: p\ntensors:\n  A: {axes: [8], dtype: fp32}\n  B: {axes: [8], dtype: bf16}\nops:\n  - C = add(A, B)\n"},
	{Code: BadOutput, Title: "an output is not valid",
		Text: "An output is the result of an operation, and is listed once. Without the field outputs, the outputs are all results that no " +
			"operation reads.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\noutputs: [A]\n"},
	{Code: NoGradient, Title: "there is no gradient",
		Text: "hirgen grad differentiates operations that have a derivative. The message names the operation without one, or the input that no " +
			"output depends on. Ask for other gradients with --of, or use other operations."},
	{Code: AmbiguousSplit, Title: "an axis may split heads or rows",
		Text: "The queries of an attention have an axis in front that the keys do not have. It can count blocks of heads or blocks of rows, " +
			"and here both fit and give different results. Choose with the attribute split; the notes show the line to write for each. The same " +
			"holds for rope and causal softmax, which count rows. If the axis in front is split over ranks, it is either a part of the rows, " +
			"counted from rank to rank, or a separate axis.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {Q: [DIDx, 4, 8, 16], K: [2, 16, 16]}\nops:\n  - O = attention(Q, K, K)\n"},
	{Code: BadChoice, Title: "a choice of the schedule does not exist",
		Text:    "docs/spec.md and hirgen schedule list the fields of the schedule with their values.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\nschedule: {reshard: befor}\n"},
	{Code: BadStreams, Title: "the number of streams is out of range",
		Text:    "A program has 1 to 64 worker streams. With 0 its pipelines run on the caller's stream.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\nschedule: {streams: 65}\n"},
	{Code: BadSchedule, Title: "a choice of the schedule does not apply",
		Text: "Each field of the schedule applies to some kinds of pipeline and communication. A field for communications that applies to " +
			"none of this program is an error, and so is a field that needs another preset or kind of pipeline. The message gives " +
			"the reason, and the hint shows a schedule that works.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\nschedule: {all: {steps: pairwise}}\n"},
}

var loweringEntries = []Entry{
	{Code: NotLowerable, Title: "hirgen cannot run this pipeline yet",
		Text: "The spec is valid, but hirgen cannot yet run it with these axes and this schedule. The message names the part that hirgen " +
			"cannot do. Try without a schedule, or without the Stream axis: hirgen then chooses a pipeline that it can do. Please report it if " +
			"neither helps.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDx, 8], C: [Stream(2), 8]}\nops:\n  - C = set(A)\nschedule: {pipeline: " +
			"collective}\n"},
	{Code: NoCommunication, Title: "no collective moves one tensor to the other",
		Text: "No single collective moves the operand to where the result is. This happens in host programs that were written by hand only, " +
			"since the passes use several steps. Add a tensor between the two, with Set."},
	{Code: NotContiguous, Title: "a communicated tensor is not contiguous",
		Text: "A collective sends one contiguous range of memory, so the axis that is split over the mesh must be the outermost of the buffer, " +
			"or of the slice. This happens in host programs that were written by hand only, since the passes insert copies. The message names the " +
			"tensor and the axis."},
	{Code: ShardingConflict, Title: "two declarations contradict each other",
		Text: "hirgen derives the axes of a tensor that the spec leaves open from its neighbours. Here two neighbours ask for different " +
			"axes. The notes name both. Declare the tensor between them with the axes that you want.",
		Example: "hirgen: 1\nname: p\nmesh: {x: 2, y: 2}\ntensors: {A: [2, 8], B: [DIDx, 8], C: [DIDy, 8]}\nops:\n  - T = relu(A)\n  - B = " +
			"set(T)\n  - C = set(T)\n"},
	{Code: TooLong, Title: "one call would compute too much",
		Text: "cuBLASLt counts the rows and columns of a matrix in an int, and an attention kernel has at most as many blocks as a CUDA " +
			"grid. docs/spec.md lists the limits. Split an axis over ranks, or compute it in slices.",
		Example: "hirgen: 1\nname: p\nparams: {M: 4294967298}\ntensors: {A: [M, 8], B: [8, 8]}\nops:\n  - C = matmul(A, B)\n"},
	{Code: HostIRSyntax, Title: "the text of a host program cannot be read",
		Text:    "The file has host IR, which hirgen lower prints, and a line of it cannot be read. Specs do not have this error.",
		Example: "program p from \"spec.yaml\"\nmesh world: x = 1, ranks\n"},
	{Code: HostIRInvalid, Title: "a host program breaks a rule of the host IR",
		Text: "A host program reads a buffer before it is allocated, or waits for a communication that was not started, for example. If you " +
			"wrote the host program, correct it. If hirgen lowered it from a spec, this is a bug of hirgen, not of your spec: please report it " +
			"with the spec. Another schedule may avoid it (--schedule none).",
		Example: "program p from \"spec.yaml\"\nmesh world: x = 1, ranks 0\nstreams 1\nchoices\ntensor A: bf16 [8], mesh world, input, layout " +
			"[0] @3:11\ntensor B: bf16 [8], mesh world, output, layout [0] @4:7\n\nB = Unary(relu, A) @4:7\nB = Allocate @4:7\n"},
}
