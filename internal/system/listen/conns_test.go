package listen

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// end is one end of a connection from a source.
type end struct {
	net.Conn
	from   string
	closed chan struct{}
}

func (e *end) Close() error { close(e.closed); return nil }

func (e *end) gone() bool {
	synctest.Wait()
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// TestWhoGivesWay: at the bound one of the source that has most gives way, first who waits
// for its sender, then the oldest silent one, none that is working and none before 100 ms; one that
// may not go yet does not hold up one that may.
func TestWhoGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conns{Max: 4, Source: func(conn net.Conn) string { return conn.(*end).from }}
		come := func(from string, p phase) *end {
			e := &end{from: from, closed: make(chan struct{})}
			c.enter(e, p)
			return e
		}
		mine, first, old, young := come("b", heard), come("a", heard), come("a", heard), come("a", heard)
		time.Sleep(time.Second)
		c.leave(young)
		half := come("a", waiting)
		from := time.Now()
		late := come("b", heard)
		if !first.gone() || old.gone() || half.gone() || time.Since(from) != 0 {
			t.Errorf("after %s: %v, %v; waiting for less than 100 ms: %v", time.Since(from),
				first.gone(), old.gone(), half.gone())
		}
		c.leave(late)
		young = come("a", heard)
		time.Sleep(patience)
		late = come("b", heard)
		if !half.gone() || old.gone() || young.gone() {
			t.Errorf("after 100 ms: waiting %v, old %v, young %v", half.gone(), old.gone(), young.gone())
		}
		from = time.Now()
		c.move(old, working)
		c.move(young, heard) // as if it had just come
		c.leave(mine)
		mine = come("a", heard)
		third := come("b", heard)
		if !young.gone() || mine.gone() || third.gone() || time.Since(from) != began {
			t.Errorf("after %s: young %v", time.Since(from), young.gone())
		}
		c.leave(third)
		for _, e := range []*end{mine, late} {
			c.leave(e)
		}
		if n := len(c.open); n > 3 || old.gone() {
			t.Errorf("%d are open, the working one is gone: %v", n, old.gone())
		}
		full := &Conns{Max: 1, Source: c.Source}
		worker := &end{from: "a", closed: make(chan struct{})}
		full.enter(worker, working)
		refused := &end{from: "b", closed: make(chan struct{})}
		if full.enter(refused, heard); !refused.gone() || worker.gone() {
			t.Error("one that is working gave way")
		}
		full.leave(worker)
		if len(full.sources) != 0 {
			t.Errorf("%d sources are left", len(full.sources))
		}
	})
}
