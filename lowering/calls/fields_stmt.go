package calls

func (*EventRecord) Op() string   { return "EventRecord" }
func (*StreamWait) Op() string    { return "StreamWait" }
func (*FlagWrite) Op() string     { return "FlagWrite" }
func (*FlagWait) Op() string      { return "FlagWait" }
func (*MemOpBatch) Op() string    { return "MemOpBatch" }
func (*Memcpy) Op() string        { return "Memcpy" }
func (*Transfer) Op() string      { return "Transfer" }
func (*NcclCall) Op() string      { return "NcclCall" }
func (*NcclGroup) Op() string     { return "NcclGroup" }
func (*Gemm) Op() string          { return "Gemm" }
func (*Launch) Op() string        { return "Launch" }
func (*Delay) Op() string         { return "Delay" }
func (*PeerSum) Op() string       { return "PeerSum" }
func (*PeerPart) Op() string      { return "PeerPart" }
func (*For) Op() string           { return "For" }
func (*If) Op() string            { return "If" }
func (*Declare) Op() string       { return "Declare" }
func (*Let) Op() string           { return "Let" }
func (*DeclareStream) Op() string { return "DeclareStream" }
func (*BeginCall) Op() string     { return "BeginCall" }

func (s *EventRecord) Fields(a archive) {
	event(a, &s.Event)
	a.Flag("watch", &s.Watch)
	a.Stream("on", &s.On)
}

func (s *StreamWait) Fields(a archive) {
	event(a, &s.Event)
	a.Stream("on", &s.On)
}

func (s *FlagWrite) Fields(a archive) {
	flagOf(a, &s.Flag)
	a.Expr("peer", &s.Peer)
	a.Flag("kernel", &s.Kernel)
	a.Name("batch", &s.Batch)
	a.Stream("on", &s.On)
}

func (s *FlagWait) Fields(a archive) {
	flagOf(a, &s.Flag)
	a.Flag("kernel", &s.Kernel)
	a.Name("batch", &s.Batch)
	a.Stream("on", &s.On)
}

func (s *MemOpBatch) Fields(a archive) {
	a.Name("name", &s.Name)
	a.Name("use", &s.Use)
	a.Flag("kernel", &s.Kernel)
	a.Stream("on", &s.On)
}

func (s *Memcpy) Fields(a archive) {
	a.Pointer("out", &s.Out)
	a.Pointer("in", &s.In)
	a.Expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.Stream("on", &s.On)
}

func (s *Transfer) Fields(a archive) {
	a.Pointer("out", &s.Out)
	a.Pointer("in", &s.In)
	a.Expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.Name("share", &s.Share)
	a.Expr("peer", &s.Peer)
	a.Expr("transfer", &s.Transfer)
	a.Name("batch", &s.Batch)
	a.Stream("on", &s.On)
}

func (s *NcclCall) Fields(a archive) {
	a.Name("kind", &s.Kind)
	a.Pointer("in", &s.In)
	a.Pointer("out", &s.Out)
	a.Flag("in_place", &s.InPlace)
	a.Flag("writable", &s.Writable)
	a.Expr("count", &s.Count)
	dtype(a, "type", &s.Type)
	a.Name("fn", &s.Fn)
	a.Expr("root", &s.Root)
	a.Expr("peer", &s.Peer)
	a.Name("from", &s.From)
	a.Name("to", &s.To)
	a.Flag("grouped", &s.Grouped)
	a.Name("team", &s.Team)
}

func (s *NcclGroup) Fields(a archive) { a.Name("team", &s.Team) }

func (s *Gemm) Fields(a archive) {
	a.Name("shape", &s.Shape)
	a.Pointer("out", &s.Out)
	a.Pointer("a", &s.A)
	a.Pointer("b", &s.B)
	optional(a, "addend", &s.Addend)
	optional(a, "bias", &s.Bias)
	a.Expr("workspace", &s.Workspace)
	a.Stream("on", &s.On)
}

func (s *Launch) Fields(a archive) {
	a.Name("kernel", &s.Kernel)
	a.Text("fn", &s.Fn)
	a.Number("axis", &s.Axis)
	operand(a, "out", &s.Out)
	for len(s.In) < 2 {
		s.In = append(s.In, Operand{})
	}
	operand(a, "a", &s.In[0])
	operand(a, "b", &s.In[1])
	if s.In[1].At.Base == "" {
		s.In = s.In[:1]
	}
	dtype(a, "out_type", &s.OutType)
	dtype(a, "in_type", &s.InType)
	a.Expr("elements", &s.Elements)
	a.Stream("on", &s.On)
}

func (s *Delay) Fields(a archive) {
	a.Number("microseconds", &s.Microseconds)
	a.Stream("on", &s.On)
}

func (s *PeerSum) Fields(a archive) {
	a.Name("name", &s.Name)
	a.Pointer("own", &s.Own)
	a.Pointer("out", &s.Out)
	a.Expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.Stream("on", &s.On)
}

func (s *PeerPart) Fields(a archive) {
	a.Name("sum", &s.Sum)
	a.Flag("store", &s.Store)
	a.Pointer("at", &s.At)
	a.Expr("elements", &s.Elements)
	a.Name("share", &s.Share)
	a.Expr("peer", &s.Peer)
	a.Expr("transfer", &s.Transfer)
}

func (s *For) Fields(a archive) {
	a.Name("var", &s.Var)
	a.Number("first", &s.First)
	a.Expr("count", &s.Count)
}

func (s *If) Fields(a archive) {
	a.Expr("cond", &s.Cond)
	a.Name("guard", &s.Guard)
	a.Expr("reach", &s.Reach)
	a.Flag("apart", &s.Apart)
}

func (s *Declare) Fields(a archive) {
	a.Name("name", &s.Name)
	dtype(a, "type", &s.Type)
	a.Flag("const", &s.Const)
	a.Pointer("value", &s.Value)
	a.Expr("cond", &s.Cond)
	a.Pointer("else", &s.Else)
	a.Name("guard", &s.Guard)
	a.Exprs("shape", &s.Shape)
}

func (s *Let) Fields(a archive) {
	a.Name("name", &s.Name)
	a.Expr("value", &s.Value)
	a.Name("mesh", &s.Mesh)
	a.Number("axis", &s.Axis)
	a.Expr("at", &s.At)
}

func (s *DeclareStream) Fields(a archive) {
	a.Name("name", &s.Name)
	a.Expr("index", &s.Index)
}

func (s *BeginCall) Fields(a archive) { a.Name("share", &s.Share) }
