package operations

import (
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/ui/uitest"
)

// TestTheListChangesByTime: it does when an age on screen does, and when it is no longer complete as of now.
func TestTheListChangesByTime(t *testing.T) {
	d := open(t, &fake{n: 40})
	fresh := &d.list.loader.fresh
	whole := d.clock.Now().Add(-time.Hour)
	for _, c := range []struct {
		name     string
		complete bool
		most     time.Duration
		in       time.Duration // until the list changes; 0: it does not
	}{
		{"complete as of now", true, 2 * time.Hour, time.Hour + 1},
		{"as of an earlier time", true, time.Minute, 0},
		{"being read", false, 2 * time.Hour, 10 * time.Second},
	} {
		fresh.Complete, fresh.WholeAt, fresh.MaxAge = c.complete, whole, c.most
		at := d.list.NextChange(d.clock.Now())
		if in := at.Sub(d.clock.Now()); c.in == 0 && !at.IsZero() || c.in != 0 && in != c.in {
			t.Errorf("%s: the list changes in %s, want %s", c.name, in, c.in)
		}
		if late := fresh.Late(at, time.UTC); c.complete && c.in != 0 && late == "" {
			t.Errorf("%s: then it says nothing new", c.name)
		}
	}

	now := d.clock.Now()
	f := &fake{ops: []api.Operation{apitest.Operation(map[string]any{"opid": id(1),
		"updatedAt": now.Add(-3*time.Minute - 20*time.Second).Format(time.RFC3339)})}}
	d = open(t, f)
	d.Send(uitest.Size(150, 24))
	d.Has("3m ago")
	if at := d.list.NextTick(now); !at.Equal(now.Add(40 * time.Second)) {
		t.Errorf("the age changes in %s, want 40s", at.Sub(now))
	}
	d.Send(d.clock.Wait(42 * time.Second))
	d.Has("4m ago")
}
