package pipeline

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// statement updates the clocks for a statement. The rank's statements come in the order of issue.
func (c *clocks) statement(s hostir.Stmt) error {
	on, err := c.target(s.Meta().On)
	if err != nil {
		return err
	}
	c.current = on
	switch s := s.(type) {
	case *hostir.Synchronize:
		target, err := c.target(s.Stream)
		if err == nil && !c.current.all.Covers(target.all) {
			c.settle(target)
			c.pend(c.current, s, slices.Clone(target.seen))
		}
		return err
	case *hostir.Wait:
		return c.wait(s)
	default:
		c.leaf(s)
	}
	return nil
}

// leaf updates the clocks for a statement that does not order streams.
func (c *clocks) leaf(s hostir.Stmt) {
	switch s := s.(type) {
	case *hostir.StartCoalescing:
		c.groups = true
	case *hostir.EndCoalescing:
		if c.groups = false; c.member != nil {
			c.transfer(s.Handle, c.member)
		}
		c.member = nil
	case *hostir.Communication, *hostir.P2PCommunication:
		switch {
		case !c.takesPart(s):
		case c.groups:
			c.member = s
		default:
			c.transfer(hostir.Handle(s), s)
		}
	case *hostir.Delay:
		c.work(c.current)
	default:
		if c.graph.of[s] != nil && c.takesPart(s) {
			c.work(c.current)
		}
	}
}

// target returns the stream that a reference in a statement refers to.
func (c *clocks) target(ref hostir.StreamRef) (*stream, error) {
	if ref.Index == nil {
		return c.stream(ref.String()), nil
	}
	index, err := c.Eval(ref.Index)
	return c.stream(fmt.Sprint("worker ", index)), err
}

// transfer starts a transfer or a group. A collective waits for earlier collectives of its communicator, and any
// other transfer for transfers with its handle in earlier iterations. Both wait for the work issued to the current
// stream. Whether a transfer that is only intra-node or only inter-node takes place is not known here. So its end
// implies only that earlier transfers with its handle have ended.
func (c *clocks) transfer(handle string, s hostir.Stmt) {
	on := c.stream("transfer " + handle)
	if team, ok := s.(*hostir.Communication); ok && team.Type != collective.SendRecv {
		on = c.stream(communicator(team))
	}
	if p, ok := s.(*hostir.P2PCommunication); ok && p.Locality != hostir.AnyNode {
		c.settle(c.current)
		on.seen = nil
	} else if !on.seen.Covers(c.current.all) {
		c.settle(c.current)
		on.seen = on.seen.UpTo(c.current.seen)
	}
	c.count++
	on.seen = on.seen.At(on.number, c.count)
	c.started.Note(c.Issue, handle, slices.Clone(on.seen))
}

// wait makes the current stream wait for a transfer of this iteration or of an earlier one. It does nothing
// on a rank that takes no part in the transfer.
func (c *clocks) wait(s *hostir.Wait) error {
	if c.started[s.Handle] == nil {
		return nil
	}
	seen, _, err := c.started.Awaited(c.Issue, s)
	if err == nil {
		c.pend(c.current, s, seen)
	}
	return err
}
