package sshserver

import (
	"context"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/ui/paint"
)

// TestSequenceInPackets: a sequence whose parts come up to 100 ms apart presses its own key and nothing else.
func TestSequenceInPackets(t *testing.T) {
	typed := make(chan string, 1)
	watched := func(o *Options) {
		o.Console = func(ctx context.Context, t Terminal) error {
			m := &screen{who: api.ActorOf(ctx)}
			_, err := paint.Run(ctx, m, paint.Options{In: t.In, Out: t.Out, Size: t.Size, Resizes: t.Resizes, Filter: t.Filter})
			typed <- m.typed
			return err
		}
	}
	virtual(t, Limits{}, watched, func(h *fixture, w *wire) {
		x := h.console(h.over(w.dial()))
		var want strings.Builder
		for _, c := range []struct{ bytes, key string }{
			{"\x1b[<64;10;10M", ""}, {"\x1b[M !M", ""}, {"\x1b]11;rgb:1e1e/1e1e/1e1M\a", ""}, {"\x1b[24;80R", ""}, {"\x1b[I", ""},
			{"\x1bP>|M\x1b\\", ""}, {"\x1bOM", "enter"}, {"\x1b[5~", "pgup"}, {"\x1b[200~M\x1b[201~", "[M]"}, {"é", "é"},
		} {
			for _, gap := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
				for i := 1; i < len(c.bytes); i++ {
					x.key(t, c.bytes[:i])
					time.Sleep(gap)
					x.key(t, c.bytes[i:])
					time.Sleep(time.Second)
					want.WriteString(c.key)
				}
			}
		}
		x.key(t, "\x1b")
		time.Sleep(150 * time.Millisecond)
		x.key(t, "j")
		time.Sleep(time.Second)
		x.key(t, "q")
		if err := x.Wait(); err != nil {
			t.Error(err)
		}
		if got := <-typed; got != want.String()+"escj" {
			t.Errorf("pressed were %q, not %q", got, want.String()+"escj")
		}
	})
}
