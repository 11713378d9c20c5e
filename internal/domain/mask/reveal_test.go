package mask

import (
	"context"
	"errors"
	"testing"

	"opdeck/api"
)

// trail counts its notes, or fails.
type trail struct {
	api.Auditor
	notes []api.Event
	err   error
}

func (r *trail) Note(_ context.Context, _ api.Actor, e api.Event) error {
	if r.err == nil {
		r.notes = append(r.notes, e)
	}
	return r.err
}

// TestReveal: values are masked for every role until a reveal is recorded; without a record, or without the
// permission, nothing is revealed.
func TestReveal(t *testing.T) {
	for _, role := range append([]api.Role{""}, api.Roles...) {
		ctx, may := api.WithActor(t.Context(), api.Actor{Name: "p", Role: role}), role.May(api.MayReveal)
		works, broken := &trail{}, &trail{err: errors.New("disk full")}
		if !Needed(ctx) || Barred(ctx) == may {
			t.Errorf("%q: masked %v, barred %v", role, Needed(ctx), Barred(ctx))
		}
		seen, err := Reveal(ctx, works, api.Event{Name: "reveal", Object: "operation", ID: "op-1"})
		if (err == nil) != may || Needed(seen) == may || (len(works.notes) == 1 && works.notes[0].ID == "op-1") != may {
			t.Errorf("%q: %v, masked %v, %+v", role, err, Needed(seen), works.notes)
		}
		if seen, err := Reveal(ctx, broken, api.Event{Name: "reveal"}); api.KindOf(err) != api.Refused || !Needed(seen) {
			t.Errorf("%q without a trail: %v, masked %v", role, err, Needed(seen))
		}
		if by := ByCaller(ctx); Needed(by) == may || !Needed(Again(by)) {
			t.Errorf("%q, masked by the caller: %v", role, Needed(by))
		}
	}
}
