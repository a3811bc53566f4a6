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

func (s *EventRecord) fields(a archive) {
	event(a, &s.Event)
	a.flag("watch", &s.Watch)
	a.stream("on", &s.On)
}

func (s *StreamWait) fields(a archive) {
	event(a, &s.Event)
	a.stream("on", &s.On)
}

func (s *FlagWrite) fields(a archive) {
	flagOf(a, &s.Flag)
	a.expr("peer", &s.Peer)
	a.flag("kernel", &s.Kernel)
	a.name("batch", &s.Batch)
	a.stream("on", &s.On)
}

func (s *FlagWait) fields(a archive) {
	flagOf(a, &s.Flag)
	a.flag("kernel", &s.Kernel)
	a.name("batch", &s.Batch)
	a.stream("on", &s.On)
}

func (s *MemOpBatch) fields(a archive) {
	a.name("name", &s.Name)
	a.name("use", &s.Use)
	a.flag("kernel", &s.Kernel)
	a.stream("on", &s.On)
}

func (s *Memcpy) fields(a archive) {
	a.pointer("out", &s.Out)
	a.pointer("in", &s.In)
	a.expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.stream("on", &s.On)
}

func (s *Transfer) fields(a archive) {
	a.pointer("out", &s.Out)
	a.pointer("in", &s.In)
	a.expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.name("share", &s.Share)
	a.expr("peer", &s.Peer)
	a.expr("transfer", &s.Transfer)
	a.name("batch", &s.Batch)
	a.stream("on", &s.On)
}

func (s *NcclCall) fields(a archive) {
	a.name("kind", &s.Kind)
	a.pointer("in", &s.In)
	a.pointer("out", &s.Out)
	a.flag("in_place", &s.InPlace)
	a.flag("writable", &s.Writable)
	a.expr("count", &s.Count)
	dtype(a, "type", &s.Type)
	a.name("fn", &s.Fn)
	a.expr("root", &s.Root)
	a.expr("peer", &s.Peer)
	a.name("from", &s.From)
	a.name("to", &s.To)
	a.flag("grouped", &s.Grouped)
	a.name("team", &s.Team)
}

func (s *NcclGroup) fields(a archive) { a.name("team", &s.Team) }

func (s *Gemm) fields(a archive) {
	a.name("shape", &s.Shape)
	a.pointer("out", &s.Out)
	a.pointer("a", &s.A)
	a.pointer("b", &s.B)
	optional(a, "addend", &s.Addend)
	optional(a, "bias", &s.Bias)
	a.expr("workspace", &s.Workspace)
	a.stream("on", &s.On)
}

func (s *Launch) fields(a archive) {
	a.name("kernel", &s.Kernel)
	a.text("fn", &s.Fn)
	a.number("axis", &s.Axis)
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
	a.expr("elements", &s.Elements)
	a.stream("on", &s.On)
}

func (s *Delay) fields(a archive) {
	a.number("microseconds", &s.Microseconds)
	a.stream("on", &s.On)
}

func (s *PeerSum) fields(a archive) {
	a.name("name", &s.Name)
	a.pointer("own", &s.Own)
	a.pointer("out", &s.Out)
	a.expr("elements", &s.Elements)
	dtype(a, "type", &s.Type)
	a.stream("on", &s.On)
}

func (s *PeerPart) fields(a archive) {
	a.name("sum", &s.Sum)
	a.flag("store", &s.Store)
	a.pointer("at", &s.At)
	a.expr("elements", &s.Elements)
	a.name("share", &s.Share)
	a.expr("peer", &s.Peer)
	a.expr("transfer", &s.Transfer)
}

func (s *For) fields(a archive) {
	a.name("var", &s.Var)
	a.number("first", &s.First)
	a.expr("count", &s.Count)
}

func (s *If) fields(a archive) {
	a.expr("cond", &s.Cond)
	a.name("guard", &s.Guard)
	a.expr("reach", &s.Reach)
	a.flag("apart", &s.Apart)
}

func (s *Declare) fields(a archive) {
	a.name("name", &s.Name)
	dtype(a, "type", &s.Type)
	a.flag("const", &s.Const)
	a.pointer("value", &s.Value)
	a.expr("cond", &s.Cond)
	a.pointer("else", &s.Else)
	a.name("guard", &s.Guard)
	a.exprs("shape", &s.Shape)
}

func (s *Let) fields(a archive) {
	a.name("name", &s.Name)
	a.expr("value", &s.Value)
	a.name("mesh", &s.Mesh)
	a.number("axis", &s.Axis)
	a.expr("at", &s.At)
}

func (s *DeclareStream) fields(a archive) {
	a.name("name", &s.Name)
	a.expr("index", &s.Index)
}

func (s *BeginCall) fields(a archive) { a.name("share", &s.Share) }
