package app

import (
	"context"

	"opdeck/internal/domain/presence"
	"opdeck/internal/store/journal"
)

// Connected lists the open consoles on this store: their person, screen and start, without a call.
func (s SharedSession) Connected(ctx context.Context) ([]presence.Place, error) {
	st, err := s.app.Session.Status(ctx)
	if err != nil {
		return nil, SessionError(err)
	}
	lives := map[string]bool{s.app.Session.Owner().ID: true}
	for _, i := range st.Seen {
		lives[i.Owner.ID] = !i.Gone
	}
	return presence.Connected(ctx, journal.NewPresence(s.app.Store.Core), s.app.Scope(),
		func(process string) bool { return lives[process] }, s.app.Now())
}
