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
// for its sender, then the oldest silent one, none that is working and none too early.
func TestWhoGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conns{Max: 4, Source: func(conn net.Conn) string { return conn.(*end).from }}
		come := func(from string, p phase) *end {
			e := &end{from: from, closed: make(chan struct{})}
			c.enter(e, p)
			return e
		}
		mine, old, young := come("b", fresh), come("a", fresh), come("a", fresh)
		time.Sleep(time.Second)
		begun := come("a", waiting)
		began := time.Now()
		late := come("b", fresh)
		if !begun.gone() || old.gone() || time.Since(began) != patience {
			t.Errorf("after %s: waiting %v, old %v", time.Since(began), begun.gone(), old.gone())
		}
		c.move(old, working)
		if come("b", fresh); !young.gone() && !mine.gone() {
			t.Error("no silent one gave way")
		}
		for _, e := range []*end{mine, late} {
			c.leave(e)
		}
		if n := c.Len(); n > 3 || old.gone() {
			t.Errorf("%d are open, the working one is gone: %v", n, old.gone())
		}
		full := &Conns{Max: 1, Source: c.Source}
		worker := &end{from: "a", closed: make(chan struct{})}
		full.enter(worker, working)
		refused := &end{from: "b", closed: make(chan struct{})}
		if full.enter(refused, fresh); !refused.gone() || worker.gone() {
			t.Error("one that is working gave way")
		}
		full.leave(worker)
		if len(full.sources) != 0 {
			t.Errorf("%d sources are left", len(full.sources))
		}
	})
}
