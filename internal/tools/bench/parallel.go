package bench

import (
	"context"
	"errors"
	"sync"
)

// buildAll builds programs. It builds the first one alone, because that build also compiles the runtime, which the
// others reuse.
func (r *run) buildAll(g []*program) error {
	errs := make([]error, len(g))
	build := func(i int) {
		p := g[i]
		r.step(0, "building "+p.row.Problem()+" "+p.row.caseName())
		errs[i] = r.build(r.ctx, p)
		r.step(1, "")
	}
	if len(g) > 0 {
		build(0)
		r.parallel(len(g)-1, func(i int) { build(i + 1) })
	}
	return errors.Join(errs...)
}

// parallel calls a function with every index below n, with at most Jobs calls running concurrently.
func (o *Options) parallel(n int, call func(i int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, max(1, o.Jobs))
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			call(i)
			<-room
		})
	}
	all.Wait()
}

// until returns the result of a call or, if ctx ends first, the error of ctx. The call, which may be a long lowering,
// then continues in the background. A panic of the call is a panic of until.
func until[T any](ctx context.Context, call func() T) (result T, err error) {
	done, panicked := make(chan T, 1), make(chan any, 1)
	go func() {
		defer func() {
			if failure := recover(); failure != nil {
				panicked <- failure
			}
		}()
		done <- call()
	}()
	select {
	case result = <-done:
	case failure := <-panicked:
		panic(failure)
	case <-ctx.Done():
	}
	return result, ctx.Err()
}
