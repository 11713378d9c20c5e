package operation

import (
	"context"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// TestTheNewestStateShows: whatever the order of a read's answer, the index and its broadcasts, the page shows the
// state that the service changed last.
func TestTheNewestStateShows(t *testing.T) {
	t.Parallel()
	state := func(status, updated string) api.Operation {
		return apitest.Operation(map[string]any{"status": status, "updatedAt": updated})
	}
	older, newer := state("PENDING", "2026-03-02T11:50:00Z"), state("COMPLETED", "2026-03-02T11:51:00Z")
	broadcast := ui.Changed{Kind: ui.KindOperations}
	for name, tell := range map[string]func(r *uitest.Run, f *fake, change func()){
		"while a read is under way whose answer is older": func(r *uitest.Run, _ *fake, change func()) {
			shelltest.HoldAnswers(r)
			r.Send(uitest.Key("r"))
			change()
			r.Send(broadcast)
			r.Release()
		},
		"while a read is under way that fails": func(r *uitest.Run, f *fake, change func()) {
			f.err = &api.Error{Kind: api.Unavailable, Public: "The service fails."}
			shelltest.HoldAnswers(r)
			r.Send(uitest.Key("r"))
			change()
			r.Send(broadcast)
			r.Release()
		},
		"stored before an answer that is older was handled": func(r *uitest.Run, _ *fake, change func()) {
			r.Send(uitest.Key("r"))
			change()
			r.Send(broadcast)
		},
		"before an answer that is older": func(r *uitest.Run, _ *fake, change func()) {
			change()
			r.Send(broadcast, uitest.Key("r"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := uitest.NewClock()
			f := &fake{op: older}
			local, at := older, clock.Now()
			known := f.local()
			known.Get = func(context.Context, string) (api.Operation, time.Time, bool) { return local, at, true }
			factory := func(env *ui.Env, p ui.Place) ui.Screen {
				return NewScreen(env, f.caller(), known, f.history, f.notes, p.ID)
			}
			r := shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindOperation, ID: string(older.OPID)})
			r.Has("PENDING")
			reads := f.reads
			tell(r, f, func() { local, at = newer, clock.Now().Add(-time.Second) })
			r.Has("COMPLETED")
			if f.reads > reads+1 {
				t.Errorf("%d reads", f.reads-reads)
			}
		})
	}
}
