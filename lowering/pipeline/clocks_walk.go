package pipeline

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// block runs through statements as they are issued.
func (c *clocks) block(body []hostir.Stmt) error {
	for _, s := range body {
		if err := c.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *clocks) statement(s hostir.Stmt) error {
	switch s := s.(type) {
	case *hostir.For:
		return c.loop(s)
	case *hostir.If:
		holds, err := c.eval(s.Cond)
		switch {
		case err != nil:
			return err
		case holds != 0:
			return c.block(s.Body)
		}
		return c.block(s.Else)
	}
	on, err := c.target(s.Meta().On)
	if err != nil {
		return err
	}
	c.current = on
	switch s := s.(type) {
	case *hostir.Synchronize:
		target, err := c.target(s.Stream)
		if err == nil && !c.current.all.covers(target.all) {
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

// leaf runs through a statement that orders no streams.
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

func (c *clocks) loop(s *hostir.For) error {
	c.loops = append(c.loops, s.Var)
	outer, shadowed := c.env[s.Var]
	for i := s.First; i < s.Count.Size; i++ {
		c.env[s.Var] = i
		if err := c.block(s.Body); err != nil {
			return err
		}
	}
	c.loops = c.loops[:len(c.loops)-1]
	if delete(c.env, s.Var); shadowed {
		c.env[s.Var] = outer
	}
	return nil
}

// target finds the stream that a statement names.
func (c *clocks) target(ref hostir.StreamRef) (*stream, error) {
	if ref.Index == nil {
		return c.stream(ref.String()), nil
	}
	index, err := c.eval(ref.Index)
	return c.stream(fmt.Sprint("worker ", index)), err
}

// transfer starts a transfer, or a group. Each follows those of its communicator, or with its handle in earlier
// iterations, and what was issued to the current stream. Of one that takes place on some nodes alone, nothing but
// its end is known.
func (c *clocks) transfer(handle string, s hostir.Stmt) {
	on := c.stream("transfer " + handle)
	if collective, ok := s.(*hostir.Communication); ok && collective.Type != hostir.SendRecv {
		on = c.stream("communicator " + collective.Mesh.Name + " " + collective.MeshAxis)
	}
	if p, ok := s.(*hostir.P2PCommunication); ok && p.Locality != hostir.AnyNode {
		c.settle(c.current)
		on.seen = nil
	} else if !on.seen.covers(c.current.all) {
		c.settle(c.current)
		on.seen = on.seen.upTo(c.current.seen)
	}
	c.count++
	on.seen = on.seen.at(on.number, c.count)
	u := c.underway[handle]
	if u == nil {
		u = &underway{loops: slices.Clone(c.loops), seen: map[string]clock{}}
		c.underway[handle] = u
	}
	u.seen[c.iteration(u.loops)] = slices.Clone(on.seen)
}

// iteration names the iteration at hand of some loops.
func (c *clocks) iteration(loops []string) string {
	values := make([]int64, len(loops))
	for i, name := range loops {
		values[i] = c.env[name]
	}
	return fmt.Sprint(values)
}

// wait makes the current stream follow a transfer of the iteration at hand, or of an earlier one. A rank that
// took no part in it waits for nothing.
func (c *clocks) wait(s *hostir.Wait) error {
	u := c.underway[s.Handle]
	if u == nil {
		return nil
	}
	key := c.iteration(u.loops)
	if s.Iteration != nil && len(u.loops) > 0 {
		earlier, err := c.eval(s.Iteration)
		if err != nil {
			return err
		}
		now := c.env[u.loops[0]]
		c.env[u.loops[0]] = earlier
		key = c.iteration(u.loops)
		c.env[u.loops[0]] = now
	}
	c.pend(c.current, s, u.seen[key])
	return nil
}
