//go:build unix

package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/store/accounts"
)

// points stop a worker in the middle of a rotation.
type points struct {
	say  func(string)
	goOn chan struct{}

	mu    sync.Mutex
	armed string // guarded by mu
}

func (p *points) arm(point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = point
}

// at stops here, once, if the point is armed, until "go" or for ever.
func (p *points) at(point string) {
	p.mu.Lock()
	stop := p.armed == point
	if stop {
		p.armed = ""
	}
	p.mu.Unlock()
	if stop {
		p.say(point)
		<-p.goOn
	}
}

// twistedStore is the shared store with points.
type twistedStore struct {
	*accounts.Store
	points *points
}

func (s *twistedStore) Acquire(ctx context.Context, key session.Key, c session.Claim) (session.Row, bool, error) {
	row, ok, err := s.Store.Acquire(ctx, key, c)
	if ok {
		s.points.at("held")
	}
	return row, ok, err
}

func (s *twistedStore) Mark(ctx context.Context, key session.Key, m session.Mark) (time.Duration, error) {
	wait, err := s.Store.Mark(ctx, key, m)
	if err == nil && wait == 0 {
		s.points.at("marked")
	}
	return wait, err
}

func (s *twistedStore) Install(ctx context.Context, key session.Key, in session.Install) (session.Row, error) {
	s.points.at("answered")
	return s.Store.Install(ctx, key, in)
}

// sends lends the session to the client as internal/app does, and notes the generation of each call.
type sends struct{ m *session.Manager }

// tallyKey is the key of a call's generation in its context.
type tallyKey struct{}

func (s *sends) Do(ctx context.Context, route session.Route, send api.Send) error {
	gen, _ := ctx.Value(tallyKey{}).(*string)
	err := s.m.Do(ctx, route, func(ctx context.Context, a session.Access) (int, http.Header, error) {
		if gen != nil {
			*gen = fmt.Sprintf("%s/%d", a.Incarnation, a.Gen)
		}
		return send(ctx, a.Token)
	})
	return app.SessionError(err)
}

// asSession finds the session's error.
func asSession(err error) (*session.Error, bool) {
	var e *session.Error
	ok := errors.As(err, &e)
	return e, ok
}

// calls makes calls as ordered.
func (w *worker) calls(ctx context.Context, o order) callReport {
	rep := callReport{Errors: map[string]int{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range max(1, o.Parallel) {
		all.Go(func() {
			end := time.Now().Add(o.For)
			for i := 0; (o.For == 0 && i < max(1, o.Calls)) || (o.For > 0 && time.Now().Before(end)); i++ {
				if i > 0 {
					time.Sleep(o.Gap)
				}
				w.call(ctx, o.Deadline, &rep, &mu)
			}
		})
	}
	all.Wait()
	return rep
}

func (w *worker) call(ctx context.Context, deadline time.Duration, rep *callReport, mu *sync.Mutex) {
	if deadline == 0 {
		deadline = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	gen := ""
	began := time.Now()
	_, err := endpoint.Do(context.WithValue(ctx, tallyKey{}, &gen), w.client, endpoint.ListOperations, api.OperationQuery{Size: 1})
	took := time.Since(began)
	mu.Lock()
	defer mu.Unlock()
	rep.Took = append(rep.Took, took)
	if err == nil {
		rep.OK++
		rep.Started, rep.Gens = append(rep.Started, began), append(rep.Gens, gen)
		return
	}
	if e, ok := asSession(err); ok {
		rep.Errors[string(e.Kind)]++
		return
	}
	rep.Errors[fmt.Sprintf("%s: %s", api.KindOf(err), err)]++
}
