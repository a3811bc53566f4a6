package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// Rooms are scratch memory for attention gradients: bytes of the program's memory that are otherwise unused at that time. A
// library reports its need when the program starts. If a room is too small, the attention allocates separate memory.

// addRooms declares a room for each such attention on the caller's stream, of the size that it is expected to need.
func addRooms(p *calls.Program) {
	attentions, labels, values, taken := calls.ByName(p.Attentions), calls.ByName(p.Labels), p.Values(), namesOf(p)
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		a, ok := s.(*calls.Attend)
		if !ok || a.Room.Base != "" || a.Workspace != nil {
			return true
		}
		d := attentions[a.Attention]
		name := strings.TrimSuffix(d.Plan, "_") + "_workspace_"
		if bytes := d.RoomBytes(values); bytes > 0 && !taken[name] {
			a.Room.Base = name
			p.Buffers = append(p.Buffers, &calls.Buffer{
				Name: name, Type: calls.RoomType, Elements: expr.Int((bytes + calls.RoomType.Size() - 1) / calls.RoomType.Size()), Where: labels[d.Label].Text + ", workspace", Works: d.Name,
			})
		}
		return true
	})
}

// widenRooms extends the rooms of a memory into adjacent bytes that are unused while the rooms are in use.
func widenRooms(blocks []*block) {
	last := int64(0)
	for _, b := range blocks {
		last = max(last, b.end())
	}
	for _, b := range blocks {
		if !b.isRoom() {
			continue
		}
		first, end := blocks[0].at, last
		for _, o := range b.beside {
			switch {
			case o.at < 0 || o.in != nil:
			case o.at < b.at:
				first = max(first, aligned(o.end()))
			default:
				end = min(end, o.at)
			}
		}
		b.at, b.bytes = first, end-first
		b.life.Buffer.Elements = expr.Int(b.bytes / b.life.Buffer.Type.Size())
	}
}

// dropRooms drops rooms that are not in any memory.
func dropRooms(p *calls.Program) {
	dropped := map[string]bool{}
	p.Buffers = slices.DeleteFunc(p.Buffers, func(b *calls.Buffer) bool {
		dropped[b.Name] = b.Works != "" && b.In == ""
		return dropped[b.Name]
	})
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		if a, ok := s.(*calls.Attend); ok && dropped[a.Room.Base] {
			a.Room = calls.Pointer{}
		}
		return true
	})
}
