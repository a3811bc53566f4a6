package diag

var fileEntries = []Entry{
	{Code: Unreadable, Title: "the spec cannot be read",
		Text: "hirgen cannot open the file: it does not exist, is a folder, or you may not read it."},
	{Code: TooLarge, Title: "the spec is too large",
		Text: "A spec has at most 1 MiB, 200,000 values and 16 levels of nesting. Build a larger pipeline in Go, with model.New."},
	{Code: NotText, Title: "the spec is not plain text",
		Text: "A spec is UTF-8 text without control characters. Line breaks that editors do not count are errors too, because they would " +
			"make the line numbers of messages wrong.",
		Example: "hirgen: 1\nname: p\ndoc: \"a\vb\"\n"},
	{Code: YAMLSyntax, Title: "the YAML cannot be read",
		Text: "Common causes: a bracket or quote is not closed, the indentation is wrong, a tab indents a line, or the file has a second " +
			"document.",
		Example: "hirgen: 1\nname: p\ntensors: {A: [8}\n"},
	{Code: AliasUsed, Title: "an anchor, alias or tag is used",
		Text: "A spec has no YAML anchors, aliases or tags, since a short text with aliases can stand for a huge one. Use a parameter " +
			"instead.",
		Example: "hirgen: 1\nname: p\ntensors:\n  A: &shape [8]\n  B: *shape\nops: [C = add(A, B)]\n"},
	{Code: WrongType, Title: "a value of another type is needed",
		Text:    "The field needs another type of value. For example, the spec has a list where a map belongs, or a field without a value.",
		Example: "hirgen: 1\nname: p\ntensors: [A, B]\nops:\n  - C = add(A, B)\n"},
	{Code: DuplicateKey, Title: "a field is given twice",
		Text:    "Write each field, parameter and tensor once. The note shows the first.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8, M: 16}\ntensors: {A: [M]}\nops: [B = relu(A)]\n"},
	{Code: UnknownField, Title: "a field does not exist",
		Text:    "docs/spec.md lists the fields of each part of a spec.",
		Example: "hirgen: 1\nname: p\ntensor: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: MissingField, Title: "a field is missing",
		Text:    "A spec needs at least the fields hirgen, name, tensors and ops.",
		Example: "hirgen: 1\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: WrongVersion, Title: "the version of the format is unknown",
		Text:    "The field hirgen is the version of the spec format. It is not the version of the program: the format changes rarely.",
		Example: "hirgen: 2\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
}

var nameEntries = []Entry{
	{Code: BadName, Title: "a text is not a name",
		Text: "A name is a letter, then up to 62 letters, digits and underscores, because it becomes a name in C++, CMake and files. A name " +
			"cannot end in an underscore or contain two in a row: hirgen uses such names itself.",
		Example: "hirgen: 1\nname: ../p\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: ReservedName, Title: "a name is reserved",
		Text: "C++, the C library, CUDA, NCCL or CMake already use the name of a pipeline, or the generated program uses that of a parameter " +
			"or a mesh, or the name is a kind of axis. Choose another.",
		Example: "hirgen: 1\nname: double\ntensors: {A: [8]}\nops: [B = relu(A)]\n"},
	{Code: DuplicateName, Title: "a name is taken",
		Text:    "Parameters, meshes and tensors need different names, because all of them become names in one program.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8}\ntensors: {M: [8]}\nops: [B = relu(M)]\n"},
	{Code: UnknownParam, Title: "a parameter does not exist",
		Text: "An expression, or -p on the command line, uses a parameter that the spec does not declare. The value of a parameter may use " +
			"earlier parameters only.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8}\ntensors: {A: [Mx]}\nops: [B = relu(A)]\n"},
	{Code: BadParam, Title: "a parameter is less than 1",
		Text:    "Parameters are sizes and counts, so they are 1 or more.",
		Example: "hirgen: 1\nname: p\nparams: {M: 0}\ntensors: {A: [M]}\nops: [B = relu(A)]\n"},
}

var exprEntries = []Entry{
	{Code: ExprSyntax, Title: "an expression cannot be read",
		Text: "An expression has integers, parameters, + - * / % == and parentheses. Write integers in plain decimal digits: 10, not 010, " +
			"0x0a or 1e1.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8}\ntensors: {A: [M/]}\nops: [B = relu(A)]\n"},
	{Code: InexactDivision, Title: "a division has a remainder",
		Text: "All slices have the same size, so every division must be exact. The message shows the expression and its values. Change a " +
			"parameter so that the division is exact.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8, S: 3}\ntensors: {A: [S, M/S]}\nops: [B = relu(A)]\n"},
	{Code: Overflow, Title: "a number does not fit in 64 bits",
		Text:    "The result of an expression exceeds 9223372036854775807, or a tensor has more than 281474976710656 bytes (2^48).",
		Example: "hirgen: 1\nname: p\nparams: {M: 4294967296}\ntensors: {A: [M, M]}\nops: [B = relu(A)]\n"},
	{Code: ZeroDivisor, Title: "a division by zero",
		Text:    "The right side of / or % is zero.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8}\ntensors: {A: [8/(M-8)]}\nops: [B = relu(A)]\n"},
	{Code: BadExtent, Title: "an extent is out of range",
		Text: "An extent is at least 1. A broadcast axis b(1) has exactly one element. An axis Stream(S) has at most 16384, because the " +
			"program issues calls for each slice.",
		Example: "hirgen: 1\nname: p\nparams: {M: 8}\ntensors: {A: [M-8]}\nops: [B = relu(A)]\n"},
}
